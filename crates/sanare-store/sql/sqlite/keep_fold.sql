INSERT INTO service_minutes (application, series, minute, count, sum, least, most)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (application, series, minute) DO UPDATE SET
    count = count + excluded.count, sum = sum + excluded.sum,
    least = min(least, excluded.least), most = max(most, excluded.most)
