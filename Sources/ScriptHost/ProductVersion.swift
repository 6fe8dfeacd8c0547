/// The version of Moonpool, as `moonpool --version` and `moonpool.version` report it.
package enum ProductVersion {
    /// The version in the form `major.minor.patch`.
    package static let text = "0.1.0"
}
