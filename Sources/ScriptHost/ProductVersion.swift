/// The version of Moonpool that scripts and the command line tell.
public enum ProductVersion {
    /// `major.minor.patch`.
    public static let text = "0.1.0"
}
