---@meta
-- Values without a literal in Lua.

---A point in time with microsecond precision. Its fields are in UTC.
---
---```lua
---local day = moonpool.date("2026-11-20T10:30:00Z")
---print(day.year, day.month, day.hour)  --> 2026 11 10
---print(day + 60)  --> 2026-11-20T10:31:00Z
---print(moonpool.date("2026-11-21") - day)  --> 48600.0
---```
---@class moonpool.Date
---@help date
---@operator add(number): moonpool.Date
---@operator sub(number): moonpool.Date
---@operator sub(moonpool.Date): number
---@shares Object: to_table
---@field year integer The year.
---@field month integer The month, 1 to 12.
---@field day integer The day, 1 to 31.
---@field hour integer The hour, 0 to 23.
---@field minute integer The minute, 0 to 59.
---@field second integer The second, 0 to 59.
---@field microsecond integer The microsecond, 0 to 999999.
---@field seconds number The seconds since 1970-01-01T00:00:00Z.
---The microseconds since 1970-01-01T00:00:00Z, exactly.
---
---```lua
---local moment = moonpool.date("2026-11-20T10:30:00.000001Z")
---print(moment.microseconds)  --> 1795170600000001
---print(moonpool.date { microseconds = moment.microseconds } == moment)  --> true
---```
---@field microseconds integer

---A UUID. Two UUIDs with the same bytes compare equal.
---@class moonpool.UUID
---@help uuid

---A 12-byte object id that sorts by creation time.
---@class moonpool.ObjectID
---@help object_id

---A decimal number with 34 significant digits. Represents 0.1 exactly; arithmetic also accepts Lua numbers.
---
---```lua
---local price = moonpool.decimal("19.90")
---print(price * 3, price + 0.1)  --> 59.70 20.00
---```
---@class moonpool.Decimal
---@help decimal
---@operator add(number|moonpool.Decimal): moonpool.Decimal
---@operator sub(number|moonpool.Decimal): moonpool.Decimal
---@operator mul(number|moonpool.Decimal): moonpool.Decimal
---@operator div(number|moonpool.Decimal): moonpool.Decimal
---@operator mod(number|moonpool.Decimal): moonpool.Decimal
---@operator idiv(number|moonpool.Decimal): moonpool.Decimal
---@operator unm: moonpool.Decimal
local Decimal = {}

---Rounds to a number of decimal places (default 0), ties to even.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.decimal("2.345"):round(2))  --> 2.34
---```
---@param places? integer
---@return moonpool.Decimal
function Decimal:round(places) end

---Returns the absolute value.
---
---```lua
---print(moonpool.decimal("-1.5"):abs())  --> 1.5
---```
---@return moonpool.Decimal
function Decimal:abs() end

---Returns the nearest Lua number; an integer if the value is integral.
---
---```lua
---print(moonpool.decimal("3.00"):to_number())  --> 3
---```
---@return number
function Decimal:to_number() end

---Returns whether the value is NaN.
---
---```lua
---print(moonpool.decimal("NaN"):is_nan())  --> true
---```
---@return boolean
function Decimal:is_nan() end

---Returns whether the value is neither infinite nor NaN.
---
---```lua
---print(moonpool.decimal("1e6144"):is_finite())  --> true
---```
---@return boolean
function Decimal:is_finite() end

---A single-precision number for a mixed value, which stores a Lua number as a double.
---@class moonpool.Float
---@help float
local Float = {}

---Returns the value as a Lua number.
---
---```lua
---print(moonpool.float(0.1):to_number() == 0.1)  --> false
---```
---@return number
function Float:to_number() end

---Bytes for a data property; tostring returns them as a string.
---@class moonpool.Data
---@help data
---@operator len: integer

---Represents nil in tables, where a nil value would remove the key.
---@class moonpool.Null
---@help null
