// Reads the JUnit report of `bun test`: how each test ended, and how long each file took.

import { existsSync, readFileSync } from 'node:fs';

export interface Report {
  passed: number;
  /** "file: name" of each test that failed. */
  failures: string[];
  /** "file: name" of each test that was skipped or is still to be written. */
  skipped: string[];
  /** Seconds of each file's tests together. Tests that run beside each other count in full, hooks not at all. */
  fileSeconds: Map<string, number>;
}

/** Null when there is no report. */
export function readReport(reportFile: string): Report | null {
  if (!existsSync(reportFile)) return null;
  const text = readFileSync(reportFile, 'utf8');
  const report: Report = { passed: 0, failures: [], skipped: [], fileSeconds: new Map() };
  for (const match of text.matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const [, attributes = '', outcome = ''] = match;
    const file = readAttribute(attributes, 'file');
    const name = `${file}: ${readAttribute(attributes, 'name')}`;
    if (/^\s*<(?:failure|error)\b/.test(outcome)) report.failures.push(name);
    else if (/^\s*<skipped\b/.test(outcome)) report.skipped.push(name);
    else report.passed++;
    const seconds = Number(readAttribute(attributes, 'time'));
    report.fileSeconds.set(file, (report.fileSeconds.get(file) ?? 0) + (Number.isFinite(seconds) ? seconds : 0));
  }
  return report;
}

function readAttribute(attributes: string, name: string): string {
  const value = new RegExp(`(?:^| )${name}="([^"]*)"`).exec(attributes)?.[1] ?? '?';
  return value
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
