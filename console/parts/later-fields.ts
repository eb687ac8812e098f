// The fields with lists of options: see later.tsx.

export { Autocomplete, MultiSelect, Select, TagsInput } from '@mantine/core';
