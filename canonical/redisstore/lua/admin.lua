-- Changes to runs. ARGV: 1 what, 2 run.
local what, id = ARGV[1], ARGV[2]
if what == 'open' then
  -- 3 mode, 4 salt, 5..12 the run (see newrun), 13 ceiling open runs, 14 the id has the minted form, 15 grace
  local old = loadrun(id)
  -- Sent again after a lost reply: the salt was made for this run.
  if old and active(old) and old.m == ARGV[3] and old.salt == ARGV[4] then return {'OK', inforow(old)} end
  if old and (active(old) or ARGV[14] == '1') then return {'INVALID_REQUEST'} end
  if full(tonumber(ARGV[13])) then return {'BUDGET_EXHAUSTED'} end
  local r = newrun(id, ARGV[3], ARGV[4], 5, old)
  storerun(r, old, tonumber(ARGV[15]))
  return {'OK', inforow(r)}
end
local r = unexpired(id)
if what == 'close' then
  if not r then return {'RUN_NOT_ACTIVE'} end
  call('HSET', r.k, 'c', '1')
  call('ZREM', P .. 'a', id)
  return {'OK'}
end
if what == 'resume' then
  if not r then return {'RUN_NOT_ACTIVE'} end
  call('HDEL', r.k, 'w')
  return {'OK'}
end
-- assess: 3 call, 4 outcome (GAIN or NO_GAIN)
local g = r and call('HGET', r.k .. '|c', 'g:' .. ARGV[3])
if not g then return {'INVALID_REQUEST'} end
local row = cmsgpack.unpack(g)
row[7], row[8] = ARGV[4], '1'
local window = string.gsub(r.w, '([GNU])([^ ]+) ', function(_, name)
  if name == ARGV[3] then return (ARGV[4] == 'GAIN' and 'G' or 'N') .. name .. ' ' end
end)
call('HSET', r.k .. '|c', 'g:' .. ARGV[3], cmsgpack.pack(row))
call('HSET', r.k, 'w', window)
return {'OK'}
