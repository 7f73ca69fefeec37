SELECT holder, fence, until FROM leases WHERE key = ?1
