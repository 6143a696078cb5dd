-- What users' functions have besides Lua's own: lists, maps, bytes, records, `aerospike`. Made once for each state; `calls.lua` and `streams.lua` follow in the same chunk.
local host, library = ...
local charge, pack, unpack = host.charge, host.pack, host.unpack
local error, select, setmetatable, type, next, rawget, tostring = error, select, setmetatable, type, next, rawget, library.tostring
local tointeger, encode, decode, rep, sub, byte = math.tointeger, string.pack, string.unpack, string.rep, string.sub, string.byte
local concat = table.concat

-- An object's content, and how it is kept, are under keys that no function of a user has.
local CONTENT, MARK = {}, {}
local List, Map, Bytes, Record, Iterator = {}, {}, {}, {}, {}
local BLOB, GEOJSON, LIST = 4, 23, 20
local BYTES_MAX = 1 << 20

local real_metatable = getmetatable
local function kind_of(value)
  return type(value) == "table" and real_metatable(value) or nil
end

local function check(value, class, name, position)
  if kind_of(value) == class then return rawget(value, CONTENT) end
  error("bad argument #" .. (position or 1) .. " (" .. name .. " expected, got " .. library.type(value) .. ")", 3)
end

local function object(class, content, mark)
  return setmetatable({ [CONTENT] = content, [MARK] = mark or 0 }, class)
end

local function whole(value, default)
  local number = value == nil and default or tointeger(value)
  if not number then error("bad argument (an integer expected, got " .. library.type(value) .. ")", 3) end
  return number
end

local function fixed(functions, call)
  local function refuse() error("the libraries cannot be changed", 2) end
  return setmetatable({}, { __index = functions, __newindex = refuse, __call = call })
end

-- Iterators: called, they give the next value, or the next pair.
local function iterator(step)
  return setmetatable({ [CONTENT] = { step = step } }, Iterator)
end

local function look_ahead(state)
  if not state.ahead then state.ahead = table.pack(state.step()) end
  return state.ahead
end

local iterators = {
  has_next = function(it) return look_ahead(check(it, Iterator, "iterator")).n > 0 end,
  next = function(it)
    local state = check(it, Iterator, "iterator")
    local values = look_ahead(state)
    state.ahead = nil
    return table.unpack(values, 1, values.n)
  end,
}
Iterator.__index = iterators
Iterator.__call = function(it) return iterators.next(it) end
Iterator.class_name = "Iterator"

-- Lists: elements from 1 on, and their number `n`, as an element may be nil.
local function new_list(content) return object(List, content) end

local function part(content, from, to)
  local items, n = {}, 0
  for position = from, to do
    n = n + 1
    items[n] = content[position]
  end
  items.n = n
  return new_list(items)
end

local lists
lists = {
  new = function() return new_list({ n = 0 }) end,
  size = function(list) return check(list, List, "list").n end,
  append = function(list, value)
    local content = check(list, List, "list")
    content.n = content.n + 1
    content[content.n] = value
  end,
  prepend = function(list, value)
    check(list, List, "list")
    lists.insert(list, 1, value)
  end,
  insert = function(list, at, value)
    local content = check(list, List, "list")
    at = whole(at)
    if at < 1 or at > BYTES_MAX then error("bad argument #2 to 'insert' (position out of bounds)", 2) end
    for position = content.n, at, -1 do content[position + 1] = content[position] end
    content[at] = value
    content.n = content.n < at and at or content.n + 1
  end,
  remove = function(list, at)
    local content = check(list, List, "list")
    at = whole(at)
    if at < 1 or at > content.n then return end
    for position = at, content.n do content[position] = content[position + 1] end
    content.n = content.n - 1
  end,
  concat = function(list, other)
    local content, more = check(list, List, "list"), check(other, List, "list", 2)
    local n = content.n
    for position = 1, more.n do content[n + position] = more[position] end
    content.n = n + more.n
  end,
  trim = function(list, from)
    local content = check(list, List, "list")
    from = whole(from, 0)
    if from < 1 then return end
    for position = from, content.n do content[position] = nil end
    if from <= content.n then content.n = from - 1 end
  end,
  take = function(list, count)
    local content = check(list, List, "list")
    return part(content, 1, math.min(whole(count, 0), content.n))
  end,
  drop = function(list, count)
    local content = check(list, List, "list")
    return part(content, math.max(whole(count, 0), 0) + 1, content.n)
  end,
  iterator = function(list)
    local content, position = check(list, List, "list"), 0
    return iterator(function()
      if position < content.n then
        position = position + 1
        return content[position]
      end
    end)
  end,
  clone = function(list)
    local content = check(list, List, "list")
    return part(content, 1, content.n)
  end,
  merge = function(list, other)
    check(list, List, "list")
    check(other, List, "list", 2)
    local both = lists.clone(list)
    lists.concat(both, other)
    return both
  end,
  nbytes = function(list)
    check(list, List, "list")
    local _, bytes = pack(list)
    return #bytes
  end,
  tostring = function(list)
    check(list, List, "list")
    return tostring(list)
  end,
}
lists.create = lists.new

List.class_name = "List"
List.__len = function(list) return list[CONTENT].n end
List.__index = function(list, at)
  local content = list[CONTENT]
  at = tointeger(at)
  return at and content[at]
end
List.__newindex = function(list, at, value)
  local content = rawget(list, CONTENT)
  at = tointeger(at)
  if not at or at < 1 or at > BYTES_MAX then error("the index of a list's element is an integer from 1 on", 2) end
  content[at] = value
  if at > content.n then content.n = at end
end

-- Maps. A value that was stored as nil is there as `CONTENT`, which nobody else has.
local function new_map(content) return object(Map, content) end

local function value_of(value)
  if value ~= CONTENT then return value end
end

local function pairs_of(map)
  local content, key, value = check(map, Map, "map"), nil, nil
  return iterator(function()
    key, value = next(content, key)
    if key ~= nil then return key, value_of(value) end
  end)
end

local maps
maps = {
  new = function() return new_map({}) end,
  size = function(map)
    local size = 0
    for _ in next, check(map, Map, "map") do size = size + 1 end
    return size
  end,
  pairs = pairs_of, iterator = pairs_of,
  keys = function(map)
    local content, key = check(map, Map, "map"), nil
    return iterator(function()
      key = next(content, key)
      if key ~= nil then return key end
    end)
  end,
  values = function(map)
    local content, key, value = check(map, Map, "map"), nil, nil
    return iterator(function()
      key, value = next(content, key)
      if key ~= nil then return value_of(value) end
    end)
  end,
  remove = function(map, key)
    local content = check(map, Map, "map")
    if key ~= nil then content[key] = nil end
  end,
  clone = function(map)
    local all = {}
    for key, value in next, check(map, Map, "map") do all[key] = value end
    return new_map(all)
  end,
  -- The pairs of both; where both have a key, what the function makes of the two values, or the other's without one.
  merge = function(map, other, joins)
    local all = rawget(maps.clone(map), CONTENT)
    for key, value in next, check(other, Map, "map", 2) do
      local had = all[key]
      if had ~= nil and joins then value = joins(value_of(had), value_of(value)) end
      all[key] = value
    end
    return new_map(all)
  end,
  -- The pairs whose key only one of the two has.
  diff = function(map, other)
    local one, two, all = check(map, Map, "map"), check(other, Map, "map", 2), {}
    for key, value in next, one do if two[key] == nil then all[key] = value end end
    for key, value in next, two do if one[key] == nil then all[key] = value end end
    return new_map(all)
  end,
  nbytes = function(map)
    check(map, Map, "map")
    local _, bytes = pack(map)
    return #bytes
  end,
  tostring = function(map)
    check(map, Map, "map")
    return tostring(map)
  end,
}
maps.create = maps.new

Map.class_name = "Map"
Map.__len = function(map) return maps.size(map) end
Map.__index = function(map, key) return value_of(map[CONTENT][key]) end
Map.__newindex = function(map, key, value)
  if key == nil then error("nil is no key of a map", 2) end
  rawget(map, CONTENT)[key] = value
end

-- Bytes: a string that is replaced when it changes.
local function new_bytes(content, kind)
  charge(#content // 16)
  return object(Bytes, content, kind or BLOB)
end

local function write(bytes, at, data)
  local content = check(bytes, Bytes, "bytes")
  at = whole(at)
  if at < 1 or at - 1 + #data > BYTES_MAX then return false end
  charge((#content + #data) // 16)
  if at - 1 > #content then content = content .. rep("\0", at - 1 - #content) end
  bytes[CONTENT] = sub(content, 1, at - 1) .. data .. sub(content, at + #data)
  return true
end

local function read(bytes, at, size)
  local content = check(bytes, Bytes, "bytes")
  at, size = whole(at), whole(size)
  if at < 1 or size < 0 or at - 1 + size > #content then return nil end
  charge(size // 16)
  return sub(content, at, at - 1 + size)
end

local function whole_to_size(value, size)
  value = whole(value)
  if size == 8 then return value end
  return value & ((1 << 8 * size) - 1)
end

local function variable(value)
  value = whole(value) & 0xFFFFFFFF
  local data = ""
  while value > 0x7F do
    data = data .. string.char(value & 0x7F | 0x80)
    value = value >> 7
  end
  return data .. string.char(value)
end

local bytes_functions = {
  size = function(bytes) return #check(bytes, Bytes, "bytes") end,
  set_size = function(bytes, size)
    local content = check(bytes, Bytes, "bytes")
    size = whole(size)
    if size < 0 or size > BYTES_MAX then return false end
    charge((#content + size) // 16)
    bytes[CONTENT] = size <= #content and sub(content, 1, size) or content .. rep("\0", size - #content)
    return true
  end,
  get_type = function(bytes)
    check(bytes, Bytes, "bytes")
    return rawget(bytes, MARK)
  end,
  set_type = function(bytes, kind)
    check(bytes, Bytes, "bytes")
    kind = whole(kind)
    if kind < 0 or kind > 255 then error("bad argument #2 to 'set_type' (no type of bytes)", 2) end
    bytes[MARK] = kind
  end,
  get_string = read,
  get_bytes = function(bytes, at, size)
    local data = read(bytes, at, size)
    return data and new_bytes(data)
  end,
  get_byte = function(bytes, at) return (byte(check(bytes, Bytes, "bytes"), whole(at))) end,
  get_var_int = function(bytes, at)
    local content, value = check(bytes, Bytes, "bytes"), 0
    at = whole(at)
    for position = 0, 4 do
      local one = at > 0 and byte(content, at + position)
      if not one then break end
      value = value | (one & 0x7F) << 7 * position
      if one < 0x80 then return value, position + 1 end
    end
    return nil, 0
  end,
}

local function add_writers(name, to_data, result)
  result = result or function(done) return done end
  bytes_functions["set_" .. name] = function(bytes, at, value, size)
    local data = to_data(value, size)
    return result(write(bytes, at, data), #data)
  end
  bytes_functions["append_" .. name] = function(bytes, value, size)
    local data = to_data(value, size)
    return result(write(bytes, #check(bytes, Bytes, "bytes") + 1, data), #data)
  end
end

for _, size in ipairs({ 2, 4, 8 }) do
  for suffix, order in next, { [""] = ">", _be = ">", _le = "<" } do
    local name, signed, unsigned = "int" .. 8 * size .. suffix, order .. "i" .. size, order .. (size == 8 and "i" or "I") .. size
    bytes_functions["get_" .. name] = function(bytes, at)
      local data = read(bytes, at, size)
      return data and (decode(signed, data))
    end
    add_writers(name, function(value) return encode(unsigned, whole_to_size(value, size)) end)
  end
end
add_writers("byte", function(value) return string.char(whole(value) & 0xFF) end)
add_writers("var_int", variable, function(done, size) return done and size or 0 end)
add_writers("string", function(value, size)
  if type(value) ~= "string" then error("bad argument (a string expected, got " .. library.type(value) .. ")", 3) end
  return size and sub(value, 1, whole(size)) or value
end)
add_writers("bytes", function(value, size)
  local content = check(value, Bytes, "bytes", 2)
  return size and sub(content, 1, whole(size)) or content
end)

Bytes.class_name = "Bytes"
Bytes.__len = function(bytes) return #rawget(bytes, CONTENT) end
Bytes.__index = function(bytes, at)
  at = tointeger(at)
  return at and at > 0 and byte(rawget(bytes, CONTENT), at) or nil
end
Bytes.__newindex = function(bytes, at, value)
  if at == CONTENT or at == MARK then error("no index of bytes", 2) end
  bytes_functions.set_byte(bytes, at, value)
end

-- Texts of values, for logs and messages.
local text_of

local function joined(open, close, items)
  return open .. concat(items, ", ") .. close
end

function text_of(value, level)
  charge(10)
  local class, content = kind_of(value), nil
  if not class then return type(value) == "string" and '"' .. value .. '"' or tostring(value) end
  if level > 8 then return "..." end
  content = rawget(value, CONTENT)
  local items = {}
  if class == List then
    for position = 1, content.n do items[position] = text_of(content[position], level + 1) end
    return joined("List(", ")", items)
  elseif class == Map then
    for key, one in next, content do items[#items + 1] = text_of(key, level + 1) .. "->" .. text_of(value_of(one), level + 1) end
    return joined("Map(", ")", items)
  elseif class == Bytes then
    if rawget(value, MARK) == GEOJSON then return content end
    for position = 1, math.min(#content, 64) do items[position] = ("%02X"):format(byte(content, position)) end
    return joined("Bytes(", #content > 64 and ", ...)" or ")", items)
  end
  return class == Record and "Record" or "Iterator"
end
for _, class in ipairs({ List, Map, Bytes, Record, Iterator }) do
  class.__tostring = function(value) return text_of(value, 0) end
  class.__name = class.class_name
end

-- The record. Its state is under its content: bins that the function has seen or changed, and what is to be stored.
Record.class_name = "Record"
Record.__index = function(record, name)
  local state = rawget(record, CONTENT)
  local value = state.values[name]
  if value ~= nil or state.changed[name] then return value end
  local stored = state.bins[name]
  if stored then
    value = unpack(stored[1], stored[2])
    state.values[name] = value
  end
  return value
end
Record.__newindex = function(record, name, value)
  local state = rawget(record, CONTENT)
  if type(name) ~= "string" or #name == 0 or #name > 15 then error("the name of a bin is a string of 1 to 15 bytes", 2) end
  state.values[name], state.changed[name] = value, true
end

local function names_of(state)
  local names = {}
  for name in next, state.bins do
    if not (state.changed[name] and state.values[name] == nil) then names[#names + 1] = name end
  end
  for name in next, state.changed do
    if not state.bins[name] and state.values[name] ~= nil then names[#names + 1] = name end
  end
  return names
end

local function of_record(read)
  return function(record) return read(check(record, Record, "record")) end
end

local records = {
  ttl = of_record(function(state) return state.ttl end),
  gen = of_record(function(state) return state.gen end),
  last_update_time = of_record(function(state) return state.updated end),
  size = of_record(function(state) return state.size end),
  key = of_record(function(state)
    if state.key then return unpack(state.key[1], state.key[2]) end
  end),
  setname = of_record(function(state) return state.set end),
  digest = of_record(function(state) return new_bytes(state.digest) end),
  numbins = of_record(function(state) return #names_of(state) end),
  bin_names = of_record(function(state)
    local names = names_of(state)
    table.sort(names)
    return names
  end),
  set_ttl = function(record, seconds)
    local state = check(record, Record, "record")
    seconds = whole(seconds)
    if seconds < -2 or seconds > 315360000 then error("bad argument #2 to 'set_ttl' (-2 to 315360000 seconds expected)", 2) end
    state.new_ttl = seconds
  end,
  drop_key = function(record) check(record, Record, "record").drops_key = true end,
}
records.memory_size, records.device_size = of_record(function() return 0 end), records.size

-- What is stored is what the bins are when this is called: the function may go on and change them.
local function store(state)
  for name in next, state.changed do
    local value = state.values[name]
    if value == nil then
      state.bins[name], state.written[name] = nil, { 0, "" }
    else
      local kind, data = pack(value)
      state.bins[name], state.written[name] = { kind, data }, { kind, data }
    end
  end
  state.changed = {}
  state.action, state.stored_ttl = "put", state.new_ttl
end

local function log_line(level, text) host.log(level, text) end

local function writable(record)
  local state = check(record, Record, "record", 2)
  if state.is_read_only then error("records of a stream cannot be changed", 3) end
  return state
end

local aerospike = {
  exists = function(_, record) return check(record, Record, "record", 2).exists end,
  create = function(_, record)
    local state = writable(record)
    if state.exists then return 1 end
    state.exists = true
    store(state)
    return 0
  end,
  update = function(_, record)
    local state = writable(record)
    if not state.exists then return -2 end
    store(state)
    return 0
  end,
  remove = function(_, record)
    local state = writable(record)
    if not state.exists then return -2 end
    state.exists, state.action, state.replaces = false, "remove", true
    state.bins, state.written, state.values, state.changed = {}, {}, {}, {}
    return 0
  end,
  log = function(_, level, text) log_line(whole(level), library.tostring(text)) end,
  get_current_time = function(self) return self.now end,
}

local function logger(level)
  return function(pattern, ...)
    local values = table.pack(...)
    for position = 1, values.n do
      if kind_of(values[position]) then values[position] = text_of(values[position], 0) end
    end
    log_line(level, library.string.format(pattern, table.unpack(values, 1, values.n)))
  end
end

local function without_objects(work)
  return function(value, ...)
    if kind_of(value) and real_metatable(value).class_name then
      error("bad argument #1 (a table expected, got " .. real_metatable(value).class_name .. ")", 2)
    end
    return work(value, ...)
  end
end

local globals = setmetatable({
  list = fixed(lists, function(_, from)
    local content = { n = 0 }
    if from ~= nil then
      if type(from) ~= "table" or kind_of(from) then error("bad argument #1 to 'list' (a table expected)", 2) end
      for position = 1, #from do content[position] = from[position] end
      content.n = #from
    end
    return new_list(content)
  end),
  map = fixed(maps, function(_, from)
    local content = {}
    if from ~= nil then
      if type(from) ~= "table" or kind_of(from) then error("bad argument #1 to 'map' (a table expected)", 2) end
      for key, value in next, from do content[key] = value end
    end
    return new_map(content)
  end),
  bytes = fixed(bytes_functions, function(_, size)
    size = whole(size, 0)
    if size < 0 or size > BYTES_MAX then error("bad argument #1 to 'bytes' (0 to 1048576 expected)", 2) end
    charge(size // 16)
    return new_bytes(rep("\0", size))
  end),
  geojson = fixed({}, function(_, text)
    if type(text) ~= "string" then error("bad argument #1 to 'geojson' (a string expected)", 2) end
    return new_bytes(text, GEOJSON)
  end),
  record = fixed(records), iterator = fixed(iterators),
  trace = logger(4), debug = logger(3), info = logger(2), warn = logger(1),
  type = function(...)
    if select("#", ...) == 0 then error("bad argument #1 to 'type' (value expected)", 2) end
    local value = ...
    local class = kind_of(value)
    return class and class.class_name and "userdata" or type(value)
  end,
  tostring = function(value)
    if kind_of(value) then return text_of(value, 0) end
    return library.tostring(value)
  end,
  getmetatable = function(value)
    local class = kind_of(value)
    return class and class.class_name
  end,
  pairs = without_objects(library.pairs), next = without_objects(library.next),
}, { __index = library })
