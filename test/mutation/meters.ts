// The guards of meters and periods: what drains, what rolls, what is left, and how it is rounded.

import { mutate } from './mutation.ts';

const drains = mutate('src/ledger/meters.ts', [
  [
    'clock-back',
    'a clock that is set back takes nothing away',
    'Math.max(0, nowMs - meters.drainedAtMs)',
    'nowMs - meters.drainedAtMs',
  ],
  [
    'clock-back-goes-on',
    'after a clock was set back rates drain from there',
    'drainedAtMs: nowMs,',
    'drainedAtMs: Math.max(meters.drainedAtMs, nowMs),',
  ],
  [
    'drain-not-below',
    'an idle minute is not saved up',
    'return elapsedMs * limit >= used ? 0 : used - elapsedMs * limit;',
    'return used - elapsedMs * limit;',
  ],
  [
    'drain',
    'a rate drains with time',
    'return elapsedMs * limit >= used ? 0 : used - elapsedMs * limit;',
    'return used;',
  ],
  [
    'unlimited-uncounted',
    'a limit set later begins empty',
    'if (limit === null) return 0;',
    'if (limit === null) return used;',
  ],
  ['input-counted', 'input tokens are counted', 'added(meters.inputTokens, inputTokens * UNITS)', 'meters.inputTokens'],
  [
    'output-counted',
    'output tokens are counted',
    'added(meters.outputTokens, outputTokens * UNITS)',
    'meters.outputTokens',
  ],
  [
    'rate-debt',
    'a message above the rate leaves a debt',
    'added(meters.outputTokens, outputTokens * UNITS)',
    'Math.min(limits.outputTokensPerMinute * UNITS, added(meters.outputTokens, outputTokens * UNITS))',
  ],
  [
    'rate-exact',
    'the largest debt is still an exact number',
    'return Math.min(Number.MAX_SAFE_INTEGER, used + more);',
    'return used + more;',
  ],
  [
    'rate-unlimited',
    'what has no limit is not bounded',
    'if (limit === null) return null;\n  const excess',
    'const excess',
  ],
  ['request-whole', 'a message needs one whole request', "(rate === 'requests' ? UNITS : 1)", '1'],
  [
    'tokens-not-whole',
    'a message needs a bucket that is not used up, not a whole token',
    "(rate === 'requests' ? UNITS : 1)",
    'UNITS',
  ],
  [
    'rate-last',
    'the last request of a minute can be had',
    'if (excess <= 0) return null;',
    'if (excess < 0) return null;',
  ],
  [
    'retry-rounded-up',
    'who waits as long as told is not refused',
    'Math.max(1, Math.ceil(excess / limit))',
    'Math.max(1, Math.floor(excess / limit))',
  ],
  [
    'retry-of-zero',
    'a limit of zero names a time all the same',
    'nowMs + (limit === 0 ? UNITS : Math.max(1,',
    'nowMs + (limit < 0 ? UNITS : Math.max(1,',
  ],
  [
    'remaining-rounded-down',
    'what remains is rounded down',
    'Math.floor((limit * UNITS - used) / UNITS)',
    'Math.ceil((limit * UNITS - used) / UNITS)',
  ],
  [
    'remaining-not-negative',
    'in debt nothing remains, and not less',
    'Math.max(0, Math.floor((limit * UNITS - used) / UNITS))',
    'Math.floor((limit * UNITS - used) / UNITS)',
  ],
  [
    'reset-of-zero',
    'a limit of zero is shown with a time all the same',
    'nowMs + (limit === 0 ? UNITS : Math.ceil(',
    'nowMs + (limit < 0 ? UNITS : Math.ceil(',
  ],
  ['reset-rounded-up', 'a reset is never named too early', 'Math.ceil(used / limit)', 'Math.floor(used / limit)'],
  [
    'tighter-shown',
    'the tighter of account and key is shown',
    'one.remaining <= other.remaining ? one : other',
    'one.remaining > other.remaining ? one : other',
  ],
  [
    'group-own',
    'a group may be called what every object has',
    'Object.hasOwn(account.groups, group) ?',
    'group in account.groups ?',
  ],
  [
    'group-apart',
    'each group has meters of its own',
    'groups: { ...account.groups, [group]: rates }',
    'groups: { [group]: rates }',
  ],
]);

const spending = mutate('src/ledger/meters.ts', [
  [
    'used-exact',
    'what is used without a limit stays an exact number',
    'Math.min(NANO_MAX, Math.max(0, meter.used + paid))',
    'Math.max(0, meter.used + paid)',
  ],
  [
    'used-not-negative',
    'what is given back in a later period is no gift',
    'Math.min(NANO_MAX, Math.max(0, meter.used + paid))',
    'Math.min(NANO_MAX, meter.used + paid)',
  ],
  [
    'period-rolls',
    'a new period forgets what was used',
    'startMs > meter.periodStartMs ? { used: 0,',
    'startMs > meter.periodStartMs ? { used: meter.used,',
  ],
  [
    'period-keeps-held',
    'a new period keeps what is held',
    '{ used: 0, held: meter.held, periodStartMs: startMs }',
    '{ used: 0, held: 0, periodStartMs: startMs }',
  ],
  [
    'period-not-back',
    'a clock set back gives no period again',
    'startMs > meter.periodStartMs ?',
    'startMs !== meter.periodStartMs ?',
  ],
  [
    'period-total',
    'a limit for ever does not begin anew',
    "if (period === 'total') return meter;",
    "if (period === 'total') period = 'month';",
  ],
  [
    'credit-line',
    'the credit line is available',
    'return account.balance + account.creditLine - account.held;',
    'return account.balance - account.held;',
  ],
  [
    'wallet-held',
    'what is held is not available',
    'return account.balance + account.creditLine - account.held;',
    'return account.balance + account.creditLine;',
  ],
  ['limit-used', 'what was used is not available', 'limit - meter.used - meter.held', 'limit - meter.held'],
  ['limit-held', 'what is held of a limit is not available', 'limit - meter.used - meter.held', 'limit - meter.used'],
]);

const periods = mutate('src/base/clock.ts', [
  [
    'day-starts',
    'a day starts at midnight UTC',
    "if (period === 'day') return Math.floor(atMs / DAY_MS) * DAY_MS;",
    "if (period === 'day') return Math.floor(atMs / DAY_MS) * DAY_MS + 3_600_000;",
  ],
  [
    'week-starts',
    'a week starts on Monday',
    'const MONDAY_OFFSET_MS = 4 * DAY_MS;',
    'const MONDAY_OFFSET_MS = 3 * DAY_MS;',
  ],
  [
    'month-starts',
    'a month starts on its first day',
    'return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);',
    'return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 2);',
  ],
  ['month-ends', 'a month ends when the next begins', 'date.getUTCMonth() + 1, 1)', 'date.getUTCMonth(), 31)'],
  [
    'week-ends',
    'a week has seven days',
    "if (period === 'week') return startMs + 7 * DAY_MS;",
    "if (period === 'week') return startMs + 6 * DAY_MS;",
  ],
  [
    'day-ends',
    'a day has twenty-four hours',
    "if (period === 'day') return startMs + DAY_MS;",
    "if (period === 'day') return startMs + DAY_MS + 1;",
  ],
  [
    'clock-forward',
    'the clock never goes backward',
    'latestMs = Math.max(read(), latestMs + (elapsedMs - latestElapsedMs) / 2);',
    'latestMs = read();',
  ],
  [
    'clock-not-still',
    'a clock set back does not stand still',
    'latestMs + (elapsedMs - latestElapsedMs) / 2',
    'latestMs',
  ],
]);

export const meterMutations = [...drains, ...spending, ...periods];
