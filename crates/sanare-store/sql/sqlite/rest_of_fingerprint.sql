SELECT until, times, occurrences FROM rests WHERE fingerprint = ?1
