/// The effect of creating an object whose primary key exists already.
public enum UpdateMode: String, Sendable, CaseIterable {
    /// It is an error.
    case error
    /// The values that were given are set on the existing object, equal ones too.
    case all
    /// Those values that differ are set on the existing object.
    case modified
}
