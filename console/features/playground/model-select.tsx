// The choice of a model, with sandbox models last.

import { Select } from '../../parts/later.tsx';
import { isSandbox, isSandboxError } from '../keys/values.ts';

interface ModelSelectProps {
  label: string;
  models: readonly string[];
  /** Empty: none. */
  value: string;
  onChange: (name: string) => void;
}

export function ModelSelect({ label, models, value, onChange }: ModelSelectProps) {
  return (
    <Select
      aria-label={label}
      placeholder="Choose a model"
      flex={1}
      miw={0}
      searchable
      allowDeselect={false}
      data={groupsOf(models)}
      value={value || null}
      onChange={(name) => onChange(name ?? '')}
      nothingFoundMessage="This key has access to no models."
    />
  );
}

function groupsOf(models: readonly string[]) {
  const isModel = (name: string) => !isSandbox(name);
  const isPlain = (name: string) => isSandbox(name) && !isSandboxError(name);
  return [
    { group: 'Models', items: models.filter(isModel) },
    { group: 'Sandbox models', items: models.filter(isPlain) },
    { group: 'Sandbox models that simulate errors', items: models.filter(isSandboxError) },
  ].filter(({ items }) => items.length > 0);
}
