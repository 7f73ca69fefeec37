SELECT min(place) FROM ledger WHERE chain = ?1 AND (
    at >= ?2
    OR incident IN (SELECT id FROM service_incidents WHERE closed = 0)
    OR incident IN (SELECT incident FROM incidents WHERE standing <> 'closed')
    OR seq IN (SELECT seq FROM receipts)
)
