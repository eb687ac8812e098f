// The generated conversations and recorded responses of every kind of provider, with more cases and more splits than in `npm test`.

process.env['GENERATED_RUNS'] ??= '100';
process.env['SPLIT_STEP'] ??= '2';

await import('../../unit/providers/conformance/generated-answers.test.ts');
await import('../../unit/providers/conformance/generated-conversations.test.ts');
await import('../../unit/providers/conformance/recorded-streams.test.ts');
await import('../../unit/fronts/every-kind.test.ts');

export {};
