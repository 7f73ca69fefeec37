UPDATE incidents SET standing = ?2 WHERE incident = ?1
