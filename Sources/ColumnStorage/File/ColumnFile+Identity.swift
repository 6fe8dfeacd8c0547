extension ColumnFile {
    /// The same for all openings of one file in this process, while one of them lives.
    public var identity: ObjectIdentifier { ObjectIdentifier(lease.environment) }
}
