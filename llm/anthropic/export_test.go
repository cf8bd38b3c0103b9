package anthropic

// FamilyOf exports familyOf to the tests.
var FamilyOf = familyOf
