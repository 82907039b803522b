/** Creation bytecode of the release: what is deployed and audited. `release/*.json` has ABI, runtime bytecode and storage layout, too. */
import type { Address, Hex } from "viem";
import arbitrationPanel from "./release/ArbitrationPanel.json" with { type: "json" };
import disputeLogic from "./release/DisputeLogic.json" with { type: "json" };
import inferenceEscrow from "./release/InferenceEscrow.json" with { type: "json" };
import modelCatalog from "./release/ModelCatalog.json" with { type: "json" };
import operatorLogic from "./release/OperatorLogic.json" with { type: "json" };
import protocolGovernor from "./release/ProtocolGovernor.json" with { type: "json" };
import protocolTimelock from "./release/ProtocolTimelock.json" with { type: "json" };
import protocolTreasury from "./release/ProtocolTreasury.json" with { type: "json" };
import serviceToken from "./release/ServiceToken.json" with { type: "json" };
import testStablecoin from "./release/TestStablecoin.json" with { type: "json" };
import workerRegistry from "./release/WorkerRegistry.json" with { type: "json" };

export const arbitrationPanelBytecode: Hex = arbitrationPanel.bytecode as Hex;
export const disputeLogicBytecode: Hex = disputeLogic.bytecode as Hex;
export const modelCatalogBytecode: Hex = modelCatalog.bytecode as Hex;
export const operatorLogicBytecode: Hex = operatorLogic.bytecode as Hex;
export const protocolGovernorBytecode: Hex = protocolGovernor.bytecode as Hex;
export const protocolTimelockBytecode: Hex = protocolTimelock.bytecode as Hex;
export const protocolTreasuryBytecode: Hex = protocolTreasury.bytecode as Hex;
export const serviceTokenBytecode: Hex = serviceToken.bytecode as Hex;
export const testStablecoinBytecode: Hex = testStablecoin.bytecode as Hex;
export const workerRegistryBytecode: Hex = workerRegistry.bytecode as Hex;

/**
 * Bytecode of the escrow, linked with its deployed libraries.
 *
 * @example
 * const bytecode = inferenceEscrowBytecode({ DisputeLogic: disputes, OperatorLogic: operators });
 * await wallet.deployContract({ abi: inferenceEscrowAbi, bytecode, args });
 */
export function inferenceEscrowBytecode(libraries: Record<"DisputeLogic" | "OperatorLogic", Address>): Hex {
  const { bytecode, linkReferences } = inferenceEscrow;
  const places = Object.values(linkReferences).flatMap((file) => Object.entries(file));
  return places
    .flatMap(([name, all]) => all.map(({ start }) => ({ start, address: libraries[name as keyof typeof libraries] })))
    .reduce((code, { start, address }) => {
      // Two digits a byte, after the 0x.
      const from = 2 + 2 * start;
      return code.slice(0, from) + address.slice(2).toLowerCase() + code.slice(from + 40);
    }, bytecode) as Hex;
}
