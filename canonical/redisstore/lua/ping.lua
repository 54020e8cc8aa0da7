-- Proves that scripts may run, that the server takes writes and that it knows absolute deadlines.
redis.call('SET', KEYS[1] .. 'ping', '1', 'PX', 1000)
return redis.call('PEXPIRETIME', KEYS[1] .. 'ping')
