/// The effect of creating an object whose primary key exists already.
public enum UpdateMode: String, Sendable, CaseIterable {
    /// Creation throws `duplicate_key`.
    case error
    /// The given values are set on the existing object, including equal ones.
    case all
    /// Only the given values that differ are set on the existing object.
    case modified
}
