UPDATE leases SET until = ?3 WHERE key = ?1 AND fence = ?2 AND until > ?4
