
-- Streams. A function says what is done with the values of a stream; what of that is done here runs once it has returned. Behind `calls.lua`, in the same chunk.
local Stream = { class_name = "Stream", __name = "Stream" }
Stream.__tostring = function() return "Stream" end

-- Each takes a step, which gives the next value or nil at the end, and makes another one.
local steps = {}

function steps.filter(step, chooses)
  return function()
    local value = step()
    while value ~= nil and not chooses(value) do value = step() end
    return value
  end
end

-- What becomes nil is left out.
function steps.map(step, changes)
  return function()
    local value = step()
    while value ~= nil do
      local changed = changes(value)
      if changed ~= nil then return changed end
      value = step()
    end
  end
end

local function copy(value)
  local class = kind_of(value)
  if class == Map then return maps.clone(value) end
  if class == List then return lists.clone(value) end
  return value
end

function steps.aggregate(step, first, adds)
  local is_done = false
  return function()
    if is_done then return nil end
    is_done = true
    local sum = copy(first)
    for value in step do sum = adds(sum, value) end
    return sum
  end
end

function steps.reduce(step, joins)
  local is_done = false
  return function()
    if is_done then return nil end
    is_done = true
    local sum = step()
    if sum ~= nil then
      for value in step do sum = joins(sum, value) end
    end
    return sum
  end
end

local streams = {}
for name in next, steps do
  local place = name == "aggregate" and 2 or 1
  streams[name] = function(stream, ...)
    local operations = check(stream, Stream, "stream")
    if type((select(place, ...))) ~= "function" then error("bad argument to '" .. name .. "' (a function expected)", 2) end
    operations[#operations + 1] = { name, ... }
    return stream
  end
end

local function joined_lists(one, other) return lists.merge(one, other) end

function streams.groupby(stream, names)
  check(stream, Stream, "stream")
  if names ~= nil and type(names) ~= "function" then error("bad argument to 'groupby' (a function expected)", 2) end
  streams.aggregate(stream, new_map({}), function(groups, value)
    local name = names and names(value)
    if name == nil then error("a group has no name", 0) end
    local group = groups[name]
    if group == nil then
      group = new_list({ n = 0 })
      groups[name] = group
    end
    lists.append(group, value)
    return groups
  end)
  return streams.reduce(stream, function(one, other) return maps.merge(one, other, joined_lists) end)
end

Stream.__index = function(stream, name)
  if type(name) == "string" then return streams[name] end
end
Stream.__newindex = function() error("a stream cannot be changed", 2) end

-- The server's part ends with the first `reduce`; the client does that again, and the rest.
local function of_server(operations)
  local own = {}
  for position = 1, #operations do
    own[position] = operations[position]
    if operations[position][1] == "reduce" then return own, true end
  end
  return own, false
end

local function run_on_stream(call)
  local work, arguments = prepared(call)
  local stream = object(Stream, {})
  local returned = work(stream, table.unpack(arguments, 1, arguments.n))
  if kind_of(returned) ~= Stream then error("function '" .. call.name .. "' returns no stream", 0) end
  local operations, reduces = of_server(rawget(returned, CONTENT))
  local position, step = 0, nil
  if call.values then
    -- What parts have come to is reduced once more.
    operations = { reduces and operations[#operations] or nil }
    step = function()
      position = position + 1
      local value = call.values[position]
      if value then return unpack(value[1], value[2]) end
    end
  else
    step = function()
      position = position + 1
      local state = call.records[position]
      if not state then return nil end
      state.values, state.changed, state.is_read_only = {}, {}, true
      return object(Record, state)
    end
  end
  for _, operation in ipairs(operations) do step = steps[operation[1]](step, table.unpack(operation, 2)) end
  local given = {}
  for value in step do
    if kind_of(value) == Record then error("records are not given to clients: use map", 0) end
    local kind, data = pack(value)
    given[#given + 1] = { kind, data }
  end
  return { given = given, reduces = reduces }
end

local function run(call)
  if call.record then return run_on_record(call) end
  return run_on_stream(call)
end

return { run = run, content = CONTENT, mark = MARK, list = List, map = Map, blob = Bytes }
