import { useTexts } from '../../app/language.ts';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import { useSectionTitle } from '../../schema-form/section-titles.ts';
import { ConfigPart, type ConfigProps } from './config-part.tsx';
import { FoldCard } from './fold-card.tsx';
import { isObject, mistakeAt } from './route-draft.ts';
import { RareFields, WHEN, WHO } from './route-fields.tsx';

/** Groups of settings in the order in which a conversation needs them. */
const HOW = [
  ...['reply', 'pace', 'presence', 'texts', 'group', 'access', 'takeover'],
  ...['session', 'commands', 'quota', 'media'],
];
const ON_FAILURE = ['notices'];
const OF_FAILURE = ['fallbackText', 'fallbackRouteId', 'tryForMs'];

/** How wa2ai converses on the route. */
export function HowFields(props: ConfigProps) {
  const { draft, mistakes } = props;
  const text = useTexts('routes');
  const titleOf = useSectionTitle();
  const set = HOW.filter((name) => name in draft.config).map(titleOf);
  return (
    <FoldCard title={text.how} summary={<SetOrDefault set={set} />} hasMistake={hasMistakeIn(mistakes, HOW)}>
      <p class="hint">{text.policiesHint}</p>
      <ConfigPart {...props} names={HOW} />
    </FoldCard>
  );
}

/** What happens when the agent does not answer. */
export function FailureFields(props: ConfigProps) {
  const { draft, mistakes } = props;
  const text = useTexts('routes');
  const titleOf = useSectionTitle();
  const { label } = useFieldTexts();
  const { failure } = draft.config;
  const set = [
    ...ON_FAILURE.filter((name) => name in draft.config).map(titleOf),
    ...OF_FAILURE.filter((name) => isObject(failure) && name in failure).map((name) =>
      label(name, ['failure', name]),
    ),
  ];
  const names = [...ON_FAILURE, ...OF_FAILURE.map((name) => `failure.${name}`)];
  return (
    <FoldCard
      title={text.onFailure}
      summary={<SetOrDefault set={set} />}
      hasMistake={hasMistakeIn(mistakes, names)}
    >
      <ConfigPart {...props} names={ON_FAILURE} />
      <ConfigPart {...props} group="failure" names={OF_FAILURE} />
    </FoldCard>
  );
}

/** Names of what a route sets; nothing: it follows the settings. */
function SetOrDefault({ set }: { set: readonly string[] }) {
  const text = useTexts('routes');
  if (set.length === 0) return <span class="faint">{text.asSettings}</span>;
  return (
    <ul class="chips">
      {set.map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ul>
  );
}

function hasMistakeIn(mistakes: ConfigProps['mistakes'], names: readonly string[]): boolean {
  return names.some((name) => mistakeAt(mistakes, `config.${name}`) !== undefined);
}

/** Everything that the other parts of the form do not show. */
export function AdvancedFields(props: ConfigProps) {
  const { schema, draft, mistakes } = props;
  const text = useTexts('routes');
  const namesOf = (group: string, shown: readonly string[]) =>
    Object.keys(schema.properties?.[group]?.properties ?? {}).filter((name) => !shown.includes(name));
  const others = Object.keys(schema.properties ?? {}).filter(
    (name) => ![...HOW, ...ON_FAILURE, 'failure', 'when'].includes(name),
  );
  const groups = { when: namesOf('when', [...WHO, ...WHEN]), failure: namesOf('failure', OF_FAILURE) };
  const names = [
    ...others,
    ...Object.entries(groups).flatMap(([group, each]) => each.map((name) => `${group}.${name}`)),
  ];
  const hasMistake =
    hasMistakeIn(mistakes, names) ||
    ['priority', 'environment'].some((path) => mistakeAt(mistakes, path) !== undefined);
  return (
    <FoldCard title={text.advanced} hasMistake={hasMistake}>
      <RareFields {...props} draft={draft} />
      <ConfigPart {...props} names={others} />
      <ConfigPart {...props} group="when" names={groups.when} />
      <ConfigPart {...props} group="failure" names={groups.failure} />
    </FoldCard>
  );
}
