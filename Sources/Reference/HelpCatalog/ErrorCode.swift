/// A code of errors: `err.code` in Lua.
package struct ErrorCode: Sendable, Hashable {
    /// The code, such as `not_in_write`.
    package let name: String
    /// A description of one sentence.
    package let summary: String
}
