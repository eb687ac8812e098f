// Bills as CSV: what the exports of each vendor become, and files that are refused.

import { describe, expect, test } from 'bun:test';
import { readAmazonUsage } from '../../../src/bills/amazon-usage.ts';
import { type BillKind, formatUnits } from '../../../src/bills/bill-line.ts';
import { readLineItem } from '../../../src/bills/openai.ts';
import { readCsvBill } from '../../../src/bills/read-csv.ts';
import { bounds } from '../../../src/config/config.ts';

/** The text in pieces of a size, so that every boundary falls somewhere. */
async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

type ShownLine = (string | number | null)[];

async function read(kind: BillKind, text: string, size = 7) {
  const { lines, days, places } = await readCsvBill(kind, pieces(text, size));
  const shown = lines.map(({ dayMs, model, feature, tier, amount, quantity }) => {
    return [new Date(dayMs).toISOString().slice(0, 10), model, feature, tier, formatUnits(amount), quantity];
  });
  return { lines: shown, days: days.length, places };
}

const refusal = (kind: BillKind, text: string) =>
  read(kind, text).then(
    () => 'accepted',
    (failure: Error) => failure.message,
  );

const ANTHROPIC = 'usage_date_utc,model,usage_type,token_type,cost_usd,cost_type,speed\n';

describe('the export of the Claude Console', () => {
  const rows =
    '2026-11-01,Claude Haiku 4.5,message,input_no_cache,0.05,token,\n' +
    '2026-11-01,Claude Haiku 4.5,message,input_no_cache,0.001,token,\n' +
    '2026-11-01,Claude Haiku 4.5,message,input_cache_write_1h,0.10,token,\n' +
    '2026-11-02,Claude Haiku 4.5,batch,output,0.20,token,\n' +
    '2026-11-02,,message,,0.01,web_search,\n' +
    '2026-11-02,,message,constructor,0.02,token,\n';
  const lines: ShownLine[] = [
    ['2026-11-01', 'Claude Haiku 4.5', 'input', 'standard', '0.051', null],
    ['2026-11-01', 'Claude Haiku 4.5', 'cache_write', 'standard', '0.10', null],
    ['2026-11-02', 'Claude Haiku 4.5', 'batch', 'batch', '0.20', null],
    ['2026-11-02', '', 'web_search', 'standard', '0.01', null],
    ['2026-11-02', '', 'other', 'standard', '0.02', null],
  ];

  test('is added up by day, model, feature and tier, whatever the pieces in which it arrives', async () => {
    for (const size of [1, 2, 7, 1_000])
      expect(await readCsvBill('anthropic', pieces(ANTHROPIC + rows, size)).then(({ lines }) => lines.length)).toBe(5);
    expect(await read('anthropic', ANTHROPIC + rows)).toEqual({ lines, days: 2, places: 3 });
  });

  test('may have a byte order mark, CRLF, quotes and quoted line breaks', async () => {
    const quoted = rows.replaceAll('Claude Haiku 4.5', '"Claude Haiku 4.5"').replaceAll('\n', '\r\n');
    const header = `\uFEFF${ANTHROPIC.replace('speed', '"a ""note"",\r\nof two lines",speed').replace('\n', '\r\n')}`;
    const withNote = quoted.replaceAll(/,\r\n/g, ',"=cmd|\'/c calc\'!A1,\nmore",\r\n');
    for (const size of [1, 3, 1_000]) expect(await read('anthropic', header + withNote, size)).toMatchObject({ lines });
  });
});

describe('the export of OpenAI', () => {
  const header = 'start_time_iso,amount_value,amount_currency,line_item,quantity\n';

  test('is read with amounts of any number of digits, also with an exponent', async () => {
    const rows =
      '2026-11-01T00:00:00+00:00,0.13080438340307526,usd,"gpt-5-2025-08-07, input",100000\n' +
      '2026-11-01T00:00:00+00:00,1.5e-06,usd,"gpt-5-2025-08-07, cached input",12\n' +
      '2026-11-01T00:00:00+00:00,2,usd,"gpt-5-2025-08-07, output, flex",200\n' +
      '2026-11-01T00:00:00+00:00,0.03,usd,web search tool calls,3\n';
    expect((await read('openai', header + rows)).lines).toEqual([
      ['2026-11-01', 'gpt-5-2025-08-07', 'input', 'standard', '0.13080438340307526', 100_000],
      ['2026-11-01', 'gpt-5-2025-08-07', 'cache_read', 'standard', '0.0000015', 12],
      ['2026-11-01', 'gpt-5-2025-08-07', 'output', 'flex', '2.00', 200],
      ['2026-11-01', '', 'web_search', 'standard', '0.03', null],
    ]);
  });

  test('has line items of tokens, and others', () => {
    expect(readLineItem('gpt-5, input, batch')).toMatchObject({ model: 'gpt-5', feature: 'batch' });
    expect(readLineItem('gpt-5, output, priority')).toMatchObject({ feature: 'output', tier: 'fast' });
    expect(readLineItem('Code Interpreter')).toMatchObject({ feature: 'other', isOfTokens: false });
  });
});

describe('the Cost and Usage Report', () => {
  const header =
    'line_item_usage_start_date,line_item_product_code,line_item_usage_type,line_item_usage_amount,' +
    'line_item_unblended_cost,line_item_currency_code,line_item_line_item_type,pricing_unit\n';
  const rows =
    '2026-11-01T05:00:00.000Z,AmazonBedrock,USE1-Claude4.6Sonnet-input-tokens,1.234,0.003702,USD,Usage,1K tokens\n' +
    '2026-11-01 06:00:00,AmazonBedrock,USE1-Claude4.6Sonnet-input-tokens,2,0.006,USD,Usage,1K tokens\n' +
    '2026-11-01T05:00:00Z,AmazonBedrock,USE1-Nova2.0Lite-cache-read-input-token-count-flex,10,0.001,USD,Usage,Units\n' +
    '2026-11-01T05:00:00Z,AmazonEC2,BoxUsage,1,99,USD,Usage,Hrs\n' +
    '2026-11-01T05:00:00Z,AmazonBedrock,,0,-0.5,USD,Credit,\n';
  const lines: ShownLine[] = [
    ['2026-11-01', 'Claude4.6Sonnet', 'input', 'standard', '0.009702', 3_234],
    ['2026-11-01', 'Nova2.0Lite', 'cache_read', 'flex', '0.001', null],
    ['2026-11-01', '', 'other', 'standard', '-0.50', null],
  ];

  test('is read in both of its forms, without rows of other services', async () => {
    expect((await read('aws', header + rows)).lines).toEqual(lines);
    const older = header
      .replaceAll(
        /line_item_(\w+)/g,
        (_, name: string) => `lineItem/${name.replaceAll(/(?:^|_)(\w)/g, (_, one: string) => one.toUpperCase())}`,
      )
      .replace('pricing_unit', 'pricing/unit');
    expect(older).toContain('lineItem/UsageStartDate');
    expect((await read('aws', older + rows)).lines).toEqual(lines);
  });

  test('has usage types whose model is the name of the product', () => {
    const service = 'Claude Sonnet 4 (Amazon Bedrock Edition)';
    expect(readAmazonUsage('USE1-MP:USE1_InputTokenCount-Units', service)).toEqual({
      model: 'Claude Sonnet 4',
      feature: 'input',
      tier: 'standard',
    });
    const mantle = readAmazonUsage('USE1-openai.gpt-oss-120b-mantle-output-tokens-standard', 'Amazon Bedrock');
    expect(mantle).toEqual({ model: 'openai.gpt-oss-120b', feature: 'output', tier: 'standard' });
  });
});

describe('a file is refused', () => {
  const row = (amount: string, more: Partial<Record<'day' | 'model', string>> = {}) =>
    `${ANTHROPIC}${more.day ?? '2026-11-01'},${more.model ?? 'm'},message,output,${amount},token,\n`;

  test.each([
    ['an amount that is a formula', row('"=1+1"'), 'row 2: "=1+1" is not an amount'],
    ['an amount that is too large', row('1000000000.01'), 'is not an amount of at most a billion USD'],
    ['an amount with a huge exponent', row('1e999'), 'is not an amount'],
    ['an amount with too many digits', row(`0.${'1'.repeat(39)}`), 'is not an amount'],
    ['a negative amount of use', row('-1'), 'row 2: the amount must not be negative'],
    ['an amount in words', row('NaN'), 'is not an amount'],
    ['a day that is not one', row('1', { day: '2026-02-31x' }), 'is not a day'],
    ['a name with control characters', row('1', { model: '"a\u0007b"' }), 'the name of the model'],
    [
      'a name that is too long',
      row('1', { model: 'm'.repeat(bounds.modelNameCharactersMax + 1) }),
      'the name of the model',
    ],
    [
      'a cell that is too long',
      row('1', { model: 'm'.repeat(bounds.billCellCharactersMax + 1) }),
      'a cell has more than',
    ],
    ['a column that is there twice', `cost_usd,${row('1')}`, 'the column cost_usd is there twice'],
    ['a column that is missing', 'usage_date_utc,model\n', 'the column token_type is missing'],
    ['a row with fewer cells', `${ANTHROPIC}2026-11-01,m\n`, 'row 2: it has 2 columns, the first row 7'],
    ['a quote that is not closed', `${ANTHROPIC}"2026-11-01`, 'a quote that is not closed'],
    ['a quote inside a cell', row('1', { model: 'a"b' }), 'a quote inside a cell'],
    ['an empty file', '', 'it is empty'],
  ])('for %s', async (_why, text, message) => {
    expect(await refusal('anthropic', text)).toContain(message);
  });

  test('for another currency', async () => {
    const header = 'start_time,amount_value,amount_currency\n';
    expect(await refusal('openai', `${header}1793491200,1,eur\n`)).toContain('the currency must be USD, not "eur"');
  });

  test('for bytes that are not UTF-8, and for more days than an import may have', async () => {
    const latin = async function* () {
      yield new Uint8Array([0x61, 0xff]);
    };
    expect(await readCsvBill('anthropic', latin()).catch(String)).toContain('it is not UTF-8');
    const days = Array.from({ length: bounds.billDaysMax + 1 }, (_, day) =>
      new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10),
    );
    const rows = days.map((day) => `${day},m,message,output,1,token,\n`);
    expect(await refusal('anthropic', ANTHROPIC + rows.join(''))).toContain(`more than ${bounds.billDaysMax} days`);
  });
});
