// Generated mutants that no client and no store can notice, each with the reason.

/** By the name of the mutant. */
export const equivalents: ReadonlyMap<string, string> = new Map([
  ['end:only-right:dj3h58', 'only a settlement has the member'],
  ['end:only-left:fgd46k', 'the ending of a hold always has entries'],
  ['findLapsedHolds:compare:89s3am', 'request ids are unique'],
  ['sides:compare:ags9hw', 'zero was returned before'],
  ['debtChange:compare:ags9hw', 'no credit is of zero'],
  ['NO_GROUP_RATES:no-member:mk7etz', 'admission sets the limits of the group'],
  ['rolled:no-if:92uabv', 'a total has one period, which began at zero'],
  ['tighter:compare:1lly3w', 'either is right where both have as much left'],
  ['newAccountRow:flip:qlnpps', 'the terms take its place'],
  ['refund:only-right:dpsrgn', 'without an ending there is no account either'],
  ['mayCost:only-left:nx68i2', 'what was reversed costs nothing any more'],
  ['answerIdempotencyRecord:no-member:47adnc', 'no member and undefined write the same'],
  ['answerIdempotencyRecord:no-member:qfqcoj', 'no rows and an empty list write the same'],
  ['renew:only-left:a6s49j', 'a lease that is missing was refused before'],
  ['isChange:only-right:if7pmy', 'only a credit can be repeated'],
  ['countMonth:compare:pwol2o', 'the same month was returned before'],
  ['drain:compare:t47ol5', 'both give zero'],
  ['charge:compare:p0dc01', 'both give zero'],
  ['credited:never:ofl3sd', 'no credit is stored under null'],
  ['isLonger:compare:jc3m47', 'the same period was returned before'],
  ['refund:only-left:8v91ac', 'accounts are never deleted'],
  ['refund:only-right:jkt8gb', 'keys are never deleted'],
  ['claim:never:kop9c6', 'no record is stored under null'],
  ['admit:only-right:xzkbwo', 'only a lookup is saved: no message had the id before'],
]);
