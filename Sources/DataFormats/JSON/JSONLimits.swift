/// Limits for reading and writing JSON.
package enum JSONLimits {
    /// The maximum nesting depth of containers.
    package static let depth = 400
    /// The maximum size of the text of one value, in bytes.
    package static let size = 1 << 31
}
