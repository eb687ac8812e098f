// Every alert rule, by Prometheus's own rule tests: it fires for what it is about, and rests otherwise.

import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { rootDirectory } from '../../check.ts';
import { readText } from '../../sources.ts';

const promtool = Bun.which('promtool');
const rulesPath = join(rootDirectory, 'monitoring/alerts.yaml');
const { groups } = parse(readText('monitoring/alerts.yaml') ?? '') as { groups: { rules: { alert: string }[] }[] };
const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));

/** Samples of one series, a minute apart, as Prometheus writes them: "0+5x30" rises by 5, 30 times. */
type Series = readonly [labels: string, values: string];

interface Case {
  alert: string;
  /** With these the alert fires after half an hour, for these labels: of one series, or of each. */
  fires: readonly Series[];
  labels: string | readonly string[];
  /** With these it does not. */
  rests: readonly Series[];
}

const OF_A = 'job="t", instance="a"';
const OF_B = 'job="t", instance="b"';
const one = (metric: string, values: string, labels = ''): Series => [
  `${metric}{${OF_A}${labels === '' ? '' : `, ${labels}`}}`,
  values,
];
const lasting = (value: number) => `${value}+0x40`;
/** A histogram of which so many observations a minute are at most a tenth of a second long, and all at most a second. */
const histogram = (metric: string, quick: number): Series[] => [
  one(`${metric}_bucket`, `0+${quick}x40`, 'le="0.1"'),
  one(`${metric}_bucket`, '0+100x40', 'le="1"'),
  one(`${metric}_bucket`, '0+100x40', 'le="+Inf"'),
];
/** The limit of an account, in USD, with its use in a minute, and the time until its window ends. */
const limitOf = (account: string, window: string, used: string, endsInMs: number): Series[] => {
  const labels = `account="${account}", limit="allowance", window="${window}"`;
  return [
    one('turnpike_account_info', lasting(1), `account="${account}", name="${account}", parent=""`),
    one('turnpike_account_limit_usd', lasting(100), labels),
    one('turnpike_account_limit_used_usd', used, labels),
    one('turnpike_account_limit_end_timestamp_seconds', lasting(endsInMs / 1000), labels),
  ];
};
const burning = (window: string) =>
  `account="a-${window}", job="t", limit="allowance", name="a-${window}", window="${window}"`;
const WINDOWS = ['5h', 'day', 'week', 'month'];
const HOUR_MS = 3_600_000;
const LATER_MS = 100 * HOUR_MS;
const alive = one('turnpike_build_info', lasting(1));

const cases: readonly Case[] = [
  { alert: 'TurnpikeScrapeMissing', fires: [one('up', lasting(0))], labels: '', rests: [alive] },
  {
    alert: 'TurnpikeNodeDown',
    fires: [alive, one('up', lasting(1)), [`up{${OF_B}}`, '1 1 1 0+0x40'], [`turnpike_build_info{${OF_B}}`, '1 1 1']],
    labels: OF_B,
    rests: [alive, one('up', lasting(1)), ['up{job="other", instance="c"}', lasting(0)]],
  },
  {
    alert: 'TurnpikeErrorRate',
    fires: [
      one('turnpike_message_errors_total', '0+10x40', 'code="upstream_failed"'),
      one('turnpike_refusals_total', '0+1x40', 'code="internal"'),
      one('turnpike_messages_total', '0+100x40', 'outcome="completed"'),
    ],
    labels: OF_A,
    rests: [
      one('turnpike_message_errors_total', '0+4x40', 'code="upstream_failed"'),
      one('turnpike_message_errors_total', '0+50x40', 'code="upstream_rejected"'),
      one('turnpike_refusals_total', '0+0x40', 'code="internal"'),
      one('turnpike_messages_total', '0+100x40', 'outcome="completed"'),
    ],
  },
  {
    alert: 'TurnpikeUpstreamDown',
    fires: [one('turnpike_upstream_up', lasting(0), 'provider="p"')],
    labels: `${OF_A}, provider="p"`,
    rests: [one('turnpike_upstream_up', lasting(1), 'provider="p"')],
  },
  {
    alert: 'TurnpikeUpstreamCredentials',
    fires: [one('turnpike_upstream_attempts_total', '0+1x40', 'provider="p", result="credentials"')],
    labels: `${OF_A}, provider="p"`,
    rests: [one('turnpike_upstream_attempts_total', '0+1x40', 'provider="p", result="answered"')],
  },
  {
    alert: 'TurnpikeStoreUnavailable',
    fires: [one('turnpike_store_available', lasting(0)), one('turnpike_ledger_unfinished_endings', lasting(0))],
    labels: OF_A,
    rests: [one('turnpike_store_available', lasting(1)), one('turnpike_ledger_unfinished_endings', lasting(0))],
  },
  {
    alert: 'TurnpikeLedgerCommitSlow',
    fires: histogram('turnpike_ledger_commit_seconds', 90),
    labels: OF_A,
    rests: histogram('turnpike_ledger_commit_seconds', 100),
  },
  {
    alert: 'TurnpikeEventLoopLate',
    fires: histogram('turnpike_event_loop_delay_seconds', 90),
    labels: OF_A,
    rests: histogram('turnpike_event_loop_delay_seconds', 100),
  },
  {
    alert: 'TurnpikeShedding',
    fires: [one('turnpike_refusals_total', '0+1x40', 'code="overloaded"')],
    labels: OF_A,
    rests: [one('turnpike_refusals_total', '0+1x40', 'code="invalid_request"')],
  },
  {
    alert: 'TurnpikePromptsWrittenOff',
    fires: [one('turnpike_written_off_usd_total', '0+0.01x40', 'model="m", reason="prompt"')],
    labels: `${OF_A}, model="m"`,
    rests: [one('turnpike_written_off_usd_total', '0+0.01x40', 'model="m", reason="output"')],
  },
  {
    alert: 'TurnpikeOutputWrittenOff',
    fires: [
      one('turnpike_written_off_usd_total', '0+0.02x40', 'model="m", reason="output"'),
      one('turnpike_cost_usd_total', '0+1x40', 'model="m"'),
    ],
    labels: OF_A,
    rests: [
      one('turnpike_written_off_usd_total', '0+0.005x40', 'model="m", reason="output"'),
      one('turnpike_cost_usd_total', '0+1x40', 'model="m"'),
    ],
  },
  {
    alert: 'TurnpikeBudgetBurnsFast',
    // Limits of 100: of a day's, 25 must be used within an hour, and of one of 5 hours 20 within 15 minutes.
    fires: [
      ...limitOf('a-5h', '5h', '10+1.5x40', LATER_MS),
      ...limitOf('a-day', 'day', '10+1x40', LATER_MS),
      ...limitOf('a-week', 'week', '10+0.4x40', LATER_MS),
      ...limitOf('a-month', 'month', '10+0.2x40', LATER_MS),
    ],
    labels: WINDOWS.map(burning),
    rests: [
      ...limitOf('slow', 'month', '10+0.1x40', LATER_MS),
      ...limitOf('over', 'month', `${'10+1x20'} ${'30+0x20'}`, LATER_MS),
      ...limitOf('ends', 'month', '10+0.2x40', HOUR_MS),
      ...limitOf('exhausted', 'month', '95+1x40', LATER_MS),
      ...limitOf('returned', 'month', `${'90+0x25'} ${'50+0x15'}`, LATER_MS),
    ],
  },
  {
    alert: 'TurnpikeBudgetBurnsSlowly',
    fires: [
      ...limitOf('a-5h', '5h', '10+2x40', LATER_MS),
      ...limitOf('a-day', 'day', '10+2x40', LATER_MS),
      ...limitOf('a-week', 'week', '10+1x40', LATER_MS),
      ...limitOf('a-month', 'month', '10+0.4x40', LATER_MS),
    ],
    labels: WINDOWS.map(burning),
    rests: [
      ...limitOf('slow', 'month', '10+0.3x40', 2 * LATER_MS),
      ...limitOf('ends', 'month', '10+0.4x40', 2 * HOUR_MS),
      ...limitOf('exhausted', 'month', '95+1x40', LATER_MS),
    ],
  },
  {
    alert: 'TurnpikeHoldsLeft',
    fires: [
      one('turnpike_open_holds', lasting(3)),
      one('turnpike_open_messages', lasting(2)),
      one('turnpike_ledger_unfinished_endings', lasting(0)),
    ],
    labels: 'job="t"',
    rests: [
      one('turnpike_open_holds', lasting(3)),
      [`turnpike_open_holds{${OF_B}}`, lasting(3)],
      one('turnpike_open_messages', lasting(2)),
      [`turnpike_open_messages{${OF_B}}`, lasting(1)],
      one('turnpike_ledger_unfinished_endings', lasting(0)),
    ],
  },
  {
    alert: 'TurnpikeHoldsStuck',
    fires: [one('turnpike_stuck_holds', lasting(1))],
    labels: 'job="t"',
    rests: [one('turnpike_stuck_holds', lasting(0))],
  },
  ...['unknown', 'disbelieved'].map((what) => ({
    alert: `TurnpikeUsage${what === 'unknown' ? 'Unknown' : 'Disbelieved'}`,
    fires: [one(`turnpike_usage_${what}_total`, '0+1x40')],
    labels: OF_A,
    rests: [one(`turnpike_usage_${what}_total`, lasting(5))],
  })),
  {
    alert: 'TurnpikeInternalFailures',
    fires: [one('turnpike_internal_failures_total', '0+1x40', 'place="changes"')],
    labels: `${OF_A}, place="changes"`,
    rests: [one('turnpike_internal_failures_total', lasting(3), 'place="changes"')],
  },
  {
    alert: 'TurnpikeCertificateExpires',
    fires: [one('turnpike_certificate_expiry_timestamp_seconds', lasting(13 * 86_400))],
    labels: OF_A,
    rests: [
      one('turnpike_certificate_expiry_timestamp_seconds', lasting(15 * 86_400)),
      [`turnpike_certificate_expiry_timestamp_seconds{${OF_B}}`, lasting(0)],
    ],
  },
  {
    alert: 'TurnpikeLogLinesDropped',
    fires: [one('turnpike_log_lines_dropped_total', '0+1x40')],
    labels: OF_A,
    rests: [one('turnpike_log_lines_dropped_total', lasting(7))],
  },
  {
    alert: 'TurnpikeDeliveriesOverdue',
    fires: [one('turnpike_deliveries_overdue_seconds', '0+60x40')],
    labels: 'job="t"',
    rests: [one('turnpike_deliveries_overdue_seconds', lasting(200))],
  },
  {
    alert: 'TurnpikeBackupOld',
    fires: [one('turnpike_last_backup_timestamp_seconds', lasting(-100_000))],
    labels: 'job="t"',
    // One node has read the store before the backup was recorded.
    rests: [
      one('turnpike_last_backup_timestamp_seconds', lasting(-100_000)),
      [`turnpike_last_backup_timestamp_seconds{${OF_B}}`, lasting(-80_000)],
    ],
  },
  {
    alert: 'TurnpikeTelemetryDropped',
    fires: [one('turnpike_telemetry_spans_dropped_total', '0+1x40')],
    labels: OF_A,
    rests: [one('turnpike_telemetry_spans_dropped_total', lasting(7))],
  },
  {
    alert: 'TurnpikeRestarts',
    fires: [one('turnpike_process_start_timestamp_seconds', '0+100x40')],
    labels: OF_A,
    rests: [one('turnpike_process_start_timestamp_seconds', `${'100 '.repeat(20)}${'900 '.repeat(20)}`.trim())],
  },
];

test('there is a case for every alert rule', () => {
  expect(cases.map(({ alert }) => alert)).toEqual(alerts);
});

/** Prometheus's test file: the alert of a case is the only series, or there is none. */
function testOf({ alert, labels }: Case, series: readonly Series[], isFiring: boolean) {
  const severity = `alertname="${alert}", alertstate="firing"`;
  const firing = [labels].flat().map((of) => `{${[severity, of].filter((part) => part !== '').join(', ')}}`);
  return {
    interval: '1m',
    name: `${alert} ${isFiring ? 'fires' : 'rests'}`,
    input_series: series.map(([metric, values]) => ({ series: metric, values })),
    promql_expr_test: [
      {
        expr: `sum without (severity) (ALERTS{alertname="${alert}", alertstate="firing"})`,
        eval_time: '30m',
        exp_samples: isFiring ? firing.map((of) => ({ labels: of, value: 1 })) : [],
      },
    ],
  };
}

async function runRuleTests(document: object): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-alerts-'));
  try {
    const path = join(directory, 'alerts.test.yaml');
    writeFileSync(path, stringify(document));
    const child = Bun.spawn([promtool as string, 'test', 'rules', path], { stdout: 'pipe', stderr: 'pipe' });
    const output = `${await new Response(child.stdout).text()}${await new Response(child.stderr).text()}`;
    expect(output).not.toContain('FAILED');
    expect(await child.exited).toBe(0);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test.skipIf(promtool === null)('every alert fires for its case, and rests otherwise', async () => {
  const tests = cases.flatMap((one) => [testOf(one, one.fires, true), testOf(one, one.rests, false)]);
  await runRuleTests({ rule_files: [rulesPath], evaluation_interval: '1m', tests });
});

test.skipIf(promtool === null)('counters of an account that leaves and returns have the right increase', async () => {
  // Ten minutes with series, twenty without, ten with: it goes on where it was, or at 0 if it was forgotten.
  const values = { continued: '0+1x10 _x20 10+1x10', forgotten: '90+1x10 _x20 0+1x10' };
  const name = 'turnpike_account_cost_usd_total';
  await runRuleTests({
    evaluation_interval: '1m',
    tests: Object.entries(values).map(([account, of]) => ({
      interval: '1m',
      input_series: [{ series: `${name}{account="${account}"}`, values: of }],
      promql_expr_test: [
        // From the first to the last sample, so that nothing is extrapolated.
        { expr: `round(increase(${name}[41m]))`, eval_time: '41m', exp_samples: [sample(account, 20)] },
        { expr: `round(rate(${name}[5m]) * 60)`, eval_time: '41m', exp_samples: [sample(account, 1)] },
      ],
    })),
  });
});

function sample(account: string, value: number) {
  return { labels: `{account="${account}"}`, value };
}
