INSERT INTO leases (key, holder, fence, until) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, until = excluded.until
