/// Limits on JSON, for reading and for writing alike.
package enum JSONLimits {
    /// The number of containers that may be nested in each other; deeper values are refused.
    package static let depth = 400
    /// The largest text of one value, in bytes.
    package static let size = 1 << 31
}
