INSERT INTO service_marks (minute, number) VALUES (?1, ?2) ON CONFLICT (minute) DO NOTHING
