// Changes one setting: a dialogue with its new value, or back to its default. The others stay as they stand.

import { Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import type { SettingShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure } from '../../api.ts';
import type { Standing, Wanted } from '../../catalogue-changes.ts';
import { ApplyDialogue, type Applying, useApply } from '../../parts/apply-dialogue.tsx';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { readSetting, settingText, shownSetting, textOfSetting, unitOf } from '../../setting-values.ts';
import { words } from '../../words.ts';

export function SettingEditor({ setting }: { setting: SettingShape }) {
  const [isOpen, dialogue] = useDisclosure(false);
  const apply = useApply({ done: words.settings.saved, onDone: dialogue.close });
  return (
    <>
      <Group gap={4} className="no-print">
        {setting.origin !== null && (
          <Button
            size="compact-xs"
            variant="subtle"
            loading={apply.isAsking && !isOpen}
            onClick={() => apply.preview((standing) => withSetting(standing, setting.name, undefined))}
          >
            {words.settings.reset}
          </Button>
        )}
        <Button
          size="compact-xs"
          variant="default"
          onClick={dialogue.open}
          aria-label={words.settings.changeOf(setting.name)}
        >
          {words.settings.change}
        </Button>
      </Group>
      {!isOpen && apply.failure !== null && <FailureNotice failure={apply.failure} />}
      <Modal
        opened={isOpen}
        onClose={dialogue.close}
        title={words.settings.changeOf(setting.name)}
        closeButtonProps={{ 'aria-label': words.parts.close }}
      >
        <SettingForm setting={setting} apply={apply} onCancel={dialogue.close} />
      </Modal>
      <ApplyDialogue apply={apply} />
    </>
  );
}

interface SettingFormProps {
  setting: SettingShape;
  apply: Applying;
  onCancel: () => void;
}

function SettingForm({ setting, apply, onCancel }: SettingFormProps) {
  const [text, setText] = useState(textOfSetting(setting.value));
  const fault = faultOf(apply.failure, setting.name);
  const field = {
    label: words.settings.value,
    error: fault,
    value: text,
    'data-autofocus': true,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => setText(currentTarget.value),
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation();
        apply.preview((standing) => withSetting(standing, setting.name, readSetting(setting, text)));
      }}
      noValidate
    >
      <Stack>
        <Text size="sm" c="dimmed">
          {settingText(setting)}
        </Text>
        {setting.kind === 'boolean' ? (
          <NativeSelect
            {...field}
            data={[
              { value: 'true', label: words.settings.on },
              { value: 'false', label: words.settings.off },
            ]}
          />
        ) : (
          <TextInput
            {...field}
            {...(hintOf(setting) !== '' && { description: hintOf(setting) })}
            {...(setting.kind === 'integer' && { inputMode: 'numeric' as const })}
            {...(setting.nullable && { placeholder: words.settings.noValue })}
          />
        )}
        <Text size="xs" c="dimmed">
          {words.settings.default(shownSetting(setting, setting.default))}
        </Text>
        {fault === null && <FailureNotice failure={apply.failure} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {words.parts.cancel}
          </Button>
          <Button type="submit" loading={apply.isAsking}>
            {words.settings.preview}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function hintOf({ name, kind, least, most }: SettingShape): string {
  if (kind === 'texts') return words.settings.listHint;
  if (kind !== 'integer' || least === null || most === null) return '';
  const unit = unitOf(name);
  const range = words.settings.range(least.toLocaleString('en-US'), most.toLocaleString('en-US'));
  return unit === undefined ? range : `${range} ${words.settings.units[unit]}`;
}

/** All that stands, with this one changed; undefined: without it, which is its default. The prefixes are a member of their own. */
export function withSetting({ settings }: Standing, name: string, value: unknown): Wanted {
  if (name === 'vendor_prefixes') return { document: { vendor_prefixes: value ?? null } };
  const { [name]: _, ...others } = settings;
  return { document: { settings: value === undefined ? others : { ...others, [name]: value } } };
}

function faultOf(failure: unknown, name: string): string | null {
  if (!(failure instanceof ApiFailure)) return null;
  const own = failure.faults.filter(({ path }) => path.includes(name));
  return own.length === failure.faults.length ? (own[0]?.message ?? null) : null;
}
