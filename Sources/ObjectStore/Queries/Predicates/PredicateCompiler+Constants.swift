import ColumnStorage
import Decimals

// Constants in comparisons with values of a type. No constant is rounded to the type of a column: `age > 2.5` means
// `age >= 3`, and `age == 2.5` matches nothing.
extension PredicateCompiler {
    /// Converts a constant for a comparison with values of a type (``Number/constant(beside:)``).
    static func constant(
        _ value: Scalar, _ type: OperandType, beside other: OperandType
    ) -> Scalar {
        guard case .value(let property) = other, property.isNumeric, let number = value.number
        else { return value }
        switch (property, type) {
        case (.decimal, .literal(let written)): return .decimal(written)
        case (.decimal, .value(.float)) where number.hasFraction:
            return .decimal(DecimalValue(Float(value.double ?? 0)))
        default: return Scalar(number.constant(beside: property))
        }
    }

    /// Converts a comparison of ints, or of dates in microseconds, with a number to a test of ints.
    static func whole(_ comparison: Comparison, _ constant: Scalar) -> ValueTest.Form {
        guard let number = constant.number else { return .never }
        switch number.wholeBound {
        case .at(let whole, isExact: true): return .int(comparison, whole)
        case .at(let floor, isExact: false):
            return switch comparison {
            case .equal: .never
            case .notEqual: .always
            case .less, .lessOrEqual: .int(.lessOrEqual, floor)
            case .greater, .greaterOrEqual: .int(.greater, floor)
            }
        case .below:
            return switch comparison {
            case .equal, .less, .lessOrEqual: .never
            case .notEqual, .greater, .greaterOrEqual: .always
            }
        case .above:
            return switch comparison {
            case .equal, .greater, .greaterOrEqual: .never
            case .notEqual, .less, .lessOrEqual: .always
            }
        }
    }

    /// Converts a comparison of floats or doubles with a number to a test of doubles.
    static func real(_ comparison: Comparison, _ constant: Scalar) -> ValueTest.Form {
        guard let (floor, isExact) = constant.number?.floor else { return .never }
        if isExact { return .double(comparison, floor) }
        return switch comparison {
        case .equal: .never
        case .notEqual: .always
        case .less, .lessOrEqual: .double(.lessOrEqual, floor)
        case .greater, .greaterOrEqual: .double(.greater, floor)
        }
    }

    /// Returns the range of ints, or of dates in microseconds, between two numbers.
    static func wholeRange(_ low: Scalar, _ high: Scalar) -> ValueTest.Form {
        let least: Int64
        switch whole(.greaterOrEqual, low) {
        // The floor of a fraction is less than the largest int.
        case .int(.greater, let bound): least = bound + 1
        case .int(_, let bound): least = bound
        case .always: least = .min
        default: return .never
        }
        switch whole(.lessOrEqual, high) {
        case .int(_, let bound): return least <= bound ? .intBetween(least, bound) : .never
        case .always: return .intBetween(least, .max)
        default: return .never
        }
    }

    /// Returns the range of floats or doubles between two numbers.
    static func realRange(_ low: Scalar, _ high: Scalar) -> ValueTest.Form {
        guard let low = low.number?.floor, let high = high.number?.floor else { return .never }
        return .doubleBetween(low.isExact ? low.value : low.value.nextUp, high.value)
    }

    /// Returns a comparison of mixed values with a constant.
    static func mixed(
        _ comparison: Comparison, _ constant: Scalar, _ type: OperandType
    ) -> ValueTest.Form {
        guard isBetweenMicroseconds(constant, type) else {
            return .compare(comparison, Scalar(mixed: constant, type))
        }
        let floor = Scalar(mixed: constant, type)
        return switch comparison {
        case .equal: .never
        case .notEqual: .always
        case .less, .lessOrEqual: .compare(.lessOrEqual, floor)
        case .greater, .greaterOrEqual: .compare(.greater, floor)
        }
    }

    /// Returns whether a constant is a point in time between two microseconds, which no date equals.
    static func isBetweenMicroseconds(_ constant: Scalar, _ type: OperandType) -> Bool {
        if type == .value(.date), case .decimal = constant { true } else { false }
    }

    /// Returns the range of mixed values between two constants.
    static func mixedRange(
        _ low: (value: Scalar, type: OperandType), _ high: (value: Scalar, type: OperandType)
    ) -> ValueTest.Form {
        var least = Scalar(mixed: low.value, low.type)
        if case .decimal = low.value, case .mixed(.date(let floor)) = least {
            least = .mixed(.date(Timestamp(microseconds: floor.microseconds &+ 1)))
        }
        return .between(least, Scalar(mixed: high.value, high.type))
    }
}

extension PredicateOperand {
    /// Returns the operand as an expression that is computed for each row and compared with another one.
    func expression(comparedWith other: PredicateOperand) -> (any PredicateExpression)? {
        if case .constant(let value) = form {
            let meant = PredicateCompiler.constant(value, type, beside: other.type)
            return ConstantExpression(
                constant: other.type.isMixed ? Scalar(mixed: meant, type) : meant)
        }
        guard other.type.isMixed, !type.isMixed, type != .null else { return expression }
        return expression.map { MixedExpression(operand: $0, type: type) }
    }
}

extension Scalar {
    /// Creates the number of microseconds of a point in time: a decimal if it is between two microseconds.
    ///
    /// Digits after the 21st decimal place only indicate that the value is greater than its first 21 digits.
    init(_ moment: PreciseTimestamp) {
        let whole = moment.floor.microseconds
        var digits = moment.digitsBelow
        if digits.utf8.count > 15 { digits = "\(digits.prefix(15))1" }
        guard !digits.isEmpty, let rest = DecimalValue("0.\(digits)") else {
            self = .int(whole)
            return
        }
        self = .decimal(DecimalValue(whole) + rest)
    }
}
