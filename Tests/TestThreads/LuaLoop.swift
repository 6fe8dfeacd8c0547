/// Lua code that runs until it is stopped.
package enum LuaLoop {
    /// A loop without end that catches errors.
    ///
    /// Under the thread sanitizer, signals wait until the code calls a function of the C library that takes time, so it
    /// copies a text as well.
    #if SANITIZER
        package static let endless =
            "while true do local text = ('x'):rep(100) pcall(error) end"
    #else
        package static let endless = "while true do pcall(error) end"
    #endif
}
