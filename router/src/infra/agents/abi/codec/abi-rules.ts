import type { SettingsProblem } from '../../agent-kind.ts';
import { placeholderProblems } from '../../message-template.ts';
import type { AbiSettings } from '../abi-settings.ts';
import { type CallRules, only } from '../input/abi-command.ts';
import { AbiInputError } from '../input/abi-input.ts';
import { sampleOf } from '../input/args-template.ts';
import { type FileTemplate, parseFileOutput } from '../output/file-output.ts';
import { type OutputTemplate, parseOutputTemplate } from '../output/output-template.ts';
import { AbiProblemsError, type AgentAbi, createAbi, findFunction } from './abi-signature.ts';
import { AbiDefinitionError } from './abi-type.ts';
import { coerceAll } from './abi-value.ts';

/** The settings of a route, parsed and checked. */
export interface AbiRules extends CallRules {
  /** Template of the reply; it applies only to the outputs of `only(rules)`. */
  output?: OutputTemplate;
  /** Template of a reply that is a file, instead of `output`. */
  file?: FileTemplate;
}

export type AbiRulesResult = { ok: true; rules: AbiRules } | { ok: false; problems: SettingsProblem[] };

/**
 * Reads the settings with the entries of their ABI: each function is parsed, `function` looked up, the argument template
 * checked against the function's types and the output template against its outputs. Mistakes are results, not exceptions.
 */
export async function rulesOf(
  entries: readonly unknown[],
  config: Pick<AbiSettings, 'function' | 'args' | 'output'>,
): Promise<AbiRulesResult> {
  let abi: AgentAbi;
  try {
    abi = await createAbi(entries);
  } catch (error) {
    if (!(error instanceof AbiProblemsError)) throw error;
    const problems = error.problems.map(({ path, message }) => ({ field: `functions${path}`, message }));
    return { ok: false, problems };
  }
  const problems: SettingsProblem[] = [];
  const noting = <T>(field: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof AbiDefinitionError) && !(error instanceof AbiInputError)) throw error;
      problems.push({ field, message: error.message });
      return undefined;
    }
  };
  const { function: wanted, args, output } = config;
  const target = wanted === undefined ? undefined : noting('function', () => findFunction(abi, wanted));
  const rules: AbiRules = { abi, ...(target && { target }), ...(args !== undefined && { args }) };
  const sole = only(rules);
  if (!sole && problems.length === 0 && (args ?? output) !== undefined) {
    const message = `is missing: a template is for one function, and there are ${abi.functions.length}`;
    problems.push({ field: 'function', message });
  }
  if (sole && args !== undefined) {
    problems.push(...placeholderProblems(args).map((message) => ({ field: 'args', message })));
    if (problems.length === 0) {
      noting('args', () => {
        try {
          coerceAll(sole.inputs, sampleOf(args), abi.codec);
        } catch (error) {
          if (!(error instanceof AbiInputError)) throw error;
          throw new AbiInputError(`does not fit ${sole.signature}: ${error.message}`);
        }
      });
    }
  }
  if (sole && output !== undefined) {
    if (typeof output === 'string') {
      rules.output = noting('output', () => parseOutputTemplate(output, sole.outputs));
    } else rules.file = noting('output', () => parseFileOutput(output, sole.outputs));
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rules };
}

/** Mistakes in settings that an admin saves. An ABI behind a URL is fetched at its first use, so it is not checked here. */
export async function abiSettingsProblems(config: AbiSettings): Promise<SettingsProblem[]> {
  if (typeof config.functions === 'string') return [];
  const result = await rulesOf(config.functions, config);
  return result.ok ? [] : result.problems;
}
