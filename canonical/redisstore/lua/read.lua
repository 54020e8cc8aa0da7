-- Reads about runs. ARGV: 1 what.

-- callrow is a call's name, tool and beginning, and how it was closed if it was.
local function callrow(r, name)
  local v = call('HMGET', r.k .. '|c', 'o:' .. name, 'g:' .. name)
  if not v[1] then return nil end
  local o, row = cmsgpack.unpack(v[1]), {}
  row[1], row[2], row[3] = name, o[2], o[3]
  if v[2] then
    for _, f in ipairs(cmsgpack.unpack(v[2])) do row[#row + 1] = f end
  end
  return row
end

if ARGV[1] == 'run' then
  local r = unexpired(ARGV[2])
  return r and inforow(r) or false
end
if ARGV[1] == 'runs' then
  local out, from, max = {}, 0, tonumber(ARGV[2])
  while #out < max do
    local ids = call('ZREVRANGE', P .. 'n', from, from + 255)
    for _, id in ipairs(ids) do
      local r = #out < max and unexpired(id)
      if r then out[#out + 1] = inforow(r) end
    end
    if #ids < 256 then break end
    from = from + 256
  end
  return out
end
if ARGV[1] == 'call' then -- 2 run, 3 call
  local r = unexpired(ARGV[2])
  return r and {inforow(r), callrow(r, ARGV[3])} or false
end
-- calls: 2 run, 3 offset, 4 max
local r, out = unexpired(ARGV[2]), {}
if not r then return out end
local offset, max = tonumber(ARGV[3]), tonumber(ARGV[4])
for _, name in ipairs(call('LRANGE', r.k .. '|l', I(offset), I(offset + max - 1))) do
  out[#out + 1] = callrow(r, name)
end
return out
