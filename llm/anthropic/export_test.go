package anthropic

// FamilyOf is familyOf for the tests of the package.
var FamilyOf = familyOf
