SELECT value FROM service_snapshots WHERE digest = ?1
