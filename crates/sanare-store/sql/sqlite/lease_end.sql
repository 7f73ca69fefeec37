UPDATE leases SET until = 0, holder = '' WHERE key = ?1 AND fence = ?2
