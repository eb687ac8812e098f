// Rows of the first content that need more than members of an answer: only the pages that have some load them.

import type { IntegrationShape, SettingShape, StatementShape } from '../src/admin-api/shapes.ts';
import { monthJournal } from './features/billing/month-journal.ts';
import { integrationStates, integrationWords } from './features/integrations/words.ts';
import {
  advancedSections,
  sectionTitles,
  settingName,
  settingSection,
  shownSetting,
} from './features/settings/values.ts';
import { entryKindLabels } from './labels.ts';

type Listed<Row> = { data: readonly Row[] };

/** Without the sections that the page folds. */
export function settingRows(read: unknown): object[] {
  const settings = (read as Listed<SettingShape>).data;
  return Object.keys(sectionTitles)
    .filter((section) => !advancedSections.some((one) => one === section))
    .flatMap((section) => settings.filter((setting) => settingSection(setting) === section))
    .map((setting) => ({ name: settingName(setting), value: shownSetting(setting, setting.value) }));
}

export function integrationRows(read: unknown): object[] {
  return (read as Listed<IntegrationShape>).data.map(({ id, state }) => ({
    title: integrationWords[id].title,
    state: integrationStates[state].label,
  }));
}

/** The rows of a month of transactions. */
export function dayRows(read: unknown): object[] {
  const statement = read as StatementShape;
  const { rows } = monthJournal(statement, `${statement.month}-01`, Date.now()) ?? { rows: [] };
  return rows.map(({ entry, change }) => ({ change, kind: entry === null ? 'Usage' : entryKindLabels[entry.kind] }));
}
