-- Calls: a function with globals of its own, over libraries that nobody can change. Behind `prelude.lua`, in the same chunk.
local environment = { __index = globals }

-- Loads a module for `require`, each once for a call.
local function requirer(env, loaded)
  local function load_module(name, level)
    if type(name) ~= "string" then error("bad argument #1 to 'require' (a string expected)", 2) end
    if loaded[name] ~= nil then return loaded[name] end
    local chunk = host.load(name, env)
    if not chunk then error("module '" .. name .. "' not found", level or 2) end
    loaded[name] = true
    local exports = chunk(name)
    if exports ~= nil then loaded[name] = exports end
    return loaded[name]
  end
  return load_module
end

-- A call's function and its arguments.
local function prepared(call)
  local env = setmetatable({}, environment)
  env.aerospike = setmetatable({ now = call.now }, { __index = aerospike })
  env.require = requirer(env, { aerospike = env.aerospike, as = true, stream_ops = true })
  env.require(call.module, 0)
  local work = rawget(env, call.name)
  if type(work) ~= "function" then error("function '" .. call.name .. "' not found in module '" .. call.module .. "'", 0) end
  return work, rawget(unpack(LIST, call.arguments), CONTENT)
end

local function run_on_record(call)
  local work, arguments = prepared(call)
  local state = call.record
  state.values, state.changed, state.written = {}, {}, {}
  local record = object(Record, state)
  local kind, data = pack((work(record, table.unpack(arguments, 1, arguments.n))))
  return {
    kind = kind, data = data, action = state.action, bins = state.written, replaces = state.replaces,
    ttl = state.stored_ttl, drops_key = state.drops_key,
  }
end
