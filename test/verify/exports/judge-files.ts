// Files of each kind and format: DuckDB finds the same rows and sums in both formats, and those of the statements; the
// validator of FOCUS finds no fault.

import { join } from 'node:path';
import { ADDRESS, TOKEN } from '../../contract/admin-api/installation.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { type Months, makeMonths, totalOf } from './months.ts';
import type { Judge } from './open-judge.ts';
import type { Check } from './run.ts';

export async function judgeFiles(judge: Judge, directory: string, check: Check): Promise<void> {
  using _ = setBounds({ exportGroupRows: 1_000 }); // several groups in a file of Parquet
  const months = await makeMonths(2_500);
  for (const kind of ['records', 'costs', 'focus']) {
    for (const month of ['2026-11', '2026-12']) {
      const paths = { csv: join(directory, `${kind}.csv`), parquet: join(directory, `${kind}.parquet`) };
      await download(months, `kind=${kind}&month=${month}`, paths.csv);
      await download(months, `kind=${kind}&month=${month}&format=parquet`, paths.parquet);
      const parquet = `read_parquet('${paths.parquet}')`;
      const csv = `read_csv('${paths.csv}', all_varchar = true, header = true)`;
      const [[names]] = (await judge.query(
        `SELECT string_agg(column_name, ' ') FROM (DESCRIBE SELECT * FROM ${parquet})`,
      )) as [[string]];
      const [[csvNames]] = (await judge.query(
        `SELECT string_agg(column_name, ' ') FROM (DESCRIBE SELECT * FROM ${csv})`,
      )) as [[string]];
      check(`${kind} of ${month}: the columns`, csvNames, names);
      for (const [column, member] of sumsOf[kind] ?? []) {
        const expected = await totalOf(months, month, member);
        const inParquet = await judge.query(
          `SELECT CAST(COALESCE(SUM("${column}"), 0) AS DECIMAL(38, 9)) FROM ${parquet}`,
        );
        check(`${kind} of ${month}: ${column} in Parquet`, inParquet[0]?.[0], expected);
        const inCsv = await judge.query(
          `SELECT COALESCE(SUM(CAST("${column}" AS DECIMAL(38, 9))), CAST(0 AS DECIMAL(38, 9))) FROM ${csv}`,
        );
        check(`${kind} of ${month}: ${column} in CSV`, inCsv[0]?.[0], expected);
      }
      if (kind === 'focus') await judgeFocus(judge, paths.csv, `${kind} of ${month}`, check);
    }
  }
  await judgeTexts(judge, months, directory, check);
}

/** Columns, each with the member of the statements that they add up to. */
const sumsOf: Readonly<Record<string, [column: string, member: string][]>> = {
  records: [['balance_paid', 'used']],
  costs: [
    ['balance_paid', 'used'],
    ['refunded', 'refunded'],
    ['corrected', 'corrected'],
  ],
};

async function judgeFocus(judge: Judge, path: string, what: string, check: Check): Promise<void> {
  const units = await judge.query(
    `SELECT DISTINCT "PricingUnit" FROM read_csv('${path}', all_varchar = true, header = true)`,
  );
  if (what.endsWith('11'))
    check(
      `${what}: units`,
      units
        .flat()
        .filter((unit) => unit !== null && unit !== '')
        .toSorted()
        .join(),
      '1000000 Tokens,Images,USD',
    );
  const { code, text } = await judge.ask({ ask: 'validate', path });
  check(`${what}: the validator ${code === 0 ? '' : String(text)}`, code, 0);
}

/** Names with quotes, line ends and formulas are the same in Parquet, and harmless in CSV. */
async function judgeTexts(judge: Judge, months: Months, directory: string, check: Check): Promise<void> {
  const paths = { csv: join(directory, 'names.csv'), parquet: join(directory, 'names.parquet') };
  await download(months, 'kind=costs&month=2026-11&by=account,key', paths.csv);
  await download(months, 'kind=costs&month=2026-11&by=account,key&format=parquet', paths.parquet);
  const names = 'SELECT account_name, key_name FROM';
  const expected = (key: string) => [
    ['acme', key],
    ['beta, "inc" 日本', key],
  ];
  const sorted = (rows: (string | null)[][]) =>
    rows.toSorted((one, other) => (String(one[0]) < String(other[0]) ? -1 : 1));
  check('names in Parquet', sorted(await judge.query(`${names} read_parquet('${paths.parquet}')`)), expected('=cmd()'));
  check('names in CSV', sorted(await judge.query(`${names} read_csv('${paths.csv}')`)), expected("'=cmd()"));
}

async function download({ installation }: Months, query: string, path: string): Promise<void> {
  const request = new Request(`http://127.0.0.1/api/v1/exports/file?${query}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const response = await installation.api.fetch(request, ADDRESS);
  if (response.status !== 200) throw new Error(await response.text());
  await Bun.write(path, response);
}
