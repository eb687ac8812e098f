// Settings as texts of a form and as people read them, and in which part of the page each stands. Pure.

import type { SettingShape } from '../src/admin-api/shapes.ts';
import { countOrNull } from './model-form.ts';
import { words } from './words.ts';

type Value = SettingShape['value'];
export type SettingSection = keyof typeof words.settings.sections;

const sectionOf: Readonly<Record<string, SettingSection>> = {
  vendor_prefixes: 'address',
  output_tranche_tokens: 'streams',
  output_floor_tokens: 'streams',
  drain_seconds: 'stop',
  drain_notice_seconds: 'stop',
  body_bytes_max: 'load',
  require_browser_header: 'address',
  upstream_connect_seconds: 'upstream',
  upstream_first_event_seconds: 'upstream',
  upstream_silence_seconds: 'upstream',
  upstream_stream_seconds: 'upstream',
  upstream_answer_seconds: 'upstream',
  attempts_seconds: 'upstream',
  circuit_failures: 'upstream',
  finish_without_caller_seconds: 'streams',
  finish_streams_without_caller_max: 'streams',
  settle_wait_seconds: 'streams',
  admin_listen: 'address',
  shed_loop_delay_ms: 'load',
  shed_body_bytes: 'load',
  shed_open_messages: 'load',
  usage_retention_days: 'retention',
  journal_retention_months: 'retention',
};

/** A setting that came with a newer service than this list stands with the others. */
export function settingSection({ name }: Pick<SettingShape, 'name'>): SettingSection {
  return sectionOf[name] ?? 'other';
}

/** Its description as a sentence begins, without the marks of code. */
export function settingText({ description }: Pick<SettingShape, 'description'>): string {
  const text = description.replaceAll('`', '');
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** "33,554,432 bytes (32 MiB)". */
export function shownSetting({ name }: Pick<SettingShape, 'name'>, value: Value): string {
  if (value === null) return words.settings.none;
  if (typeof value === 'boolean') return value ? words.settings.on : words.settings.off;
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value === 'string') return value;
  const unit = unitOf(name);
  const count = value.toLocaleString('en-US');
  const whole = unit === undefined ? count : `${count} ${words.settings.units[unit]}`;
  return unit === 'bytes' && value >= MIB && value % MIB === 0
    ? `${whole} (${(value / MIB).toLocaleString('en-US')} MiB)`
    : whole;
}

const MIB = 1024 * 1024;

/** By the end of its name: "drain_seconds", "body_bytes_max". */
export function unitOf(name: string): string | undefined {
  return name.split('_').findLast((part) => part in words.settings.units);
}

export function textOfSetting(value: Value): string {
  if (value === null) return '';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** What apply takes of a text; what is wrong with it, apply says. */
export function readSetting({ kind, nullable }: Pick<SettingShape, 'kind' | 'nullable'>, text: string): unknown {
  if (text.trim() === '' && nullable) return null;
  if (kind === 'integer') return countOrNull(text) ?? text;
  if (kind === 'boolean') return text === 'true';
  if (kind === 'text') return text.trim();
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
