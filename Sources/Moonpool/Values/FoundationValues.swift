#if Foundation
    import FoundationEssentials
    import ColumnStorage
    import ObjectStore

    extension Date: OrderedValue {
        /// A date property.
        public static var storedType: StoredType { .date }
        /// The date, rounded to microseconds.
        public var stored: Mixed { .date(Timestamp(self)) }
        /// Creates the date.
        public init(stored: Mixed) throws {
            self = Date(try Timestamp(stored: stored))
        }
        /// True: every value that is not null can be read from the column.
        @inlinable public static var _hasFastRead: Bool { true }
        /// Reads the column.
        @inlinable public static func _read(_ cell: StoredCell) -> Date? {
            Timestamp._read(cell).map { Date($0) }
        }
        /// Creates a date from a timestamp.
        @inlinable public init(_ timestamp: Timestamp) {
            self.init(timeIntervalSince1970: Double(timestamp.microseconds) / 1_000_000)
        }
    }

    extension Timestamp {
        /// Creates a timestamp from a date, rounded to microseconds.
        ///
        /// A date beyond the year 292,000 becomes the last one that can be stored.
        public init(_ date: Date) {
            let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
            if let exact = Int64(exactly: microseconds) {
                self.init(microseconds: exact)
            } else {
                self.init(microseconds: microseconds < 0 ? .min : .max)
            }
        }
    }

    extension UUID: OrderedValue {
        /// A uuid property.
        public static var storedType: StoredType { .uuid }
        /// The UUID.
        public var stored: Mixed { .uuid(UUIDValue(self)) }
        /// Creates the UUID.
        public init(stored: Mixed) throws { self = UUID(try UUIDValue(stored: stored)) }
        /// Creates a UUID from a stored one.
        public init(_ value: UUIDValue) {
            let b = value.bytes
            self.init(
                uuid: (
                    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
                    b[12], b[13], b[14], b[15]
                ))
        }
    }

    extension UUIDValue {
        /// Creates a stored UUID.
        public init(_ value: UUID) {
            let u = value.uuid
            let high = [u.0, u.1, u.2, u.3, u.4, u.5, u.6, u.7]
            let low = [u.8, u.9, u.10, u.11, u.12, u.13, u.14, u.15]
            self.init(
                high: high.reduce(0) { $0 << 8 | UInt64($1) },
                low: low.reduce(0) { $0 << 8 | UInt64($1) })
        }
    }

    extension Decimal: NumericValue {
        /// A decimal property.
        public static var storedType: StoredType { .decimal }
        /// The number.
        ///
        /// Rounds a number with more than 34 digits; assigning such a number throws `out_of_range`.
        public var stored: Mixed { .decimal(DecimalValue("\(self)") ?? .zero) }
        /// Creates the number.
        ///
        /// Throws `out_of_range` for a number that Decimal cannot represent.
        public init(stored: Mixed) throws {
            let value = try DecimalValue(stored: stored)
            guard value.isFinite, let number = Decimal(string: value.description) else {
                throw StoreError(.outOfRange, "\(value) does not fit in Decimal")
            }
            self = number
        }
        /// Creates a sum.
        public static func _total(_ sum: Mixed) throws -> Decimal { try Decimal(stored: sum) }
        /// Returns the number.
        ///
        /// Throws `out_of_range` for a number with more than 34 digits.
        public func _element(in context: StoredContext) throws -> StoredElement {
            let text = "\(self)"
            guard let value = DecimalValue(text), Decimal(string: value.description) == self else {
                throw StoreError(
                    .outOfRange, "\(text) has more than the 34 digits of a decimal property")
            }
            return StoredElement(.decimal(value))
        }
    }

    extension Data: StoredValue {
        /// A data property.
        public static var storedType: StoredType { .data }
        /// The bytes.
        public var stored: Mixed { .data(Array(self)) }
        /// Creates the data.
        public init(stored: Mixed) throws { self.init(try [UInt8](stored: stored)) }
    }
#endif
