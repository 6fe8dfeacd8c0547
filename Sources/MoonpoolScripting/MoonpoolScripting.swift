// Lua script engines for Swift programs.
//
// This module adds ``ScriptEngine`` to `Moonpool`, which it re-exports: a program imports one module. The
// implementation is in `ScriptHost` and `LuaHost`, whose few types for programs it exports.

@_exported import Moonpool
@_exported import ScriptHost

@_exported import struct LuaHost.FileRights
@_exported import struct LuaHost.LuaLibraries
@_exported import struct LuaHost.LuaString
