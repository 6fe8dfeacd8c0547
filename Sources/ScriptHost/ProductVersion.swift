/// Moonpool's version, as `moonpool --version` and `moonpool.version` show it.
package enum ProductVersion {
    /// `major.minor.patch`.
    package static let text = "0.1.0"
}
