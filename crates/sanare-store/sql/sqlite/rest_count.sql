UPDATE rests SET occurrences = occurrences + 1 WHERE fingerprint = ?1
