import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import solc from 'solc';
import type { Abi, Hex } from 'viem';

export interface CompiledContract {
  abi: Abi;
  bytecode: Hex;
}

interface SolcOutput {
  errors?: Array<{ severity: string; formattedMessage: string }>;
  contracts: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>;
}

let compiled: Record<string, CompiledContract> | undefined;

/** The contracts of tests/fixtures/contracts, compiled once in a process. */
export function contract(name: 'Arena' | 'Quest' | 'Token'): CompiledContract {
  compiled ??= compile(['Arena', 'Quest', 'Token']);
  const found = compiled[name];
  if (!found) throw new Error(`there is no contract ${name}`);
  return found;
}

function compile(names: string[]): Record<string, CompiledContract> {
  const folder = join(import.meta.dirname, '..', 'fixtures', 'contracts');
  const sources = Object.fromEntries(
    names.map((name) => [`${name}.sol`, { content: readFileSync(join(folder, `${name}.sol`), 'utf8') }]),
  );
  const input = {
    language: 'Solidity',
    sources,
    settings: { evmVersion: 'shanghai', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as SolcOutput;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'));
  return Object.fromEntries(
    names.map((name) => {
      const found = output.contracts[`${name}.sol`]?.[name];
      if (!found) throw new Error(`${name} was not compiled`);
      return [name, { abi: found.abi, bytecode: `0x${found.evm.bytecode.object}` as Hex }];
    }),
  );
}
