SELECT key, kind, incident, at, body FROM service_outbox
WHERE key IN (SELECT message FROM service_deliveries WHERE state <> 'delivered')
  AND key NOT IN (SELECT message FROM service_deliveries WHERE state = 'delivered')
ORDER BY number DESC LIMIT ?1
