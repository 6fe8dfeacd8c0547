/// Moonpool's version, as `moonpool --version` and `moonpool.version` tell it.
public enum ProductVersion {
    /// `major.minor.patch`.
    public static let text = "0.1.0"
}
