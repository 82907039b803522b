// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IArbitrationPanel} from "../../../contracts/interfaces/IArbitrationPanel.sol";
import {IInferenceEscrow} from "../../../contracts/interfaces/IInferenceEscrow.sol";
import {IProtocolTreasury} from "../../../contracts/interfaces/IProtocolTreasury.sol";
import {IModelCatalog, ModelListing, Tier} from "../../../contracts/interfaces/IModelCatalog.sol";
import {IWorkerRegistry} from "../../../contracts/interfaces/IWorkerRegistry.sol";
import {Assignment, Completion, Signature, Windows} from "../../../contracts/libraries/JobTypes.sol";
import {JobMessages} from "../../../contracts/libraries/JobMessages.sol";
import {HostileStablecoin} from "../../../contracts/testing/HostileStablecoin.sol";
import {create, createLinked, VM} from "./Vm.sol";

/// @dev What only the deployment calls.
interface IRegistryDeployment {
    function setEscrow(address escrow) external;
}

/// @notice The protocol on a hostile token, owned by this contract, with keys that can sign.
abstract contract Protocol {
    uint256 internal constant GATEWAY_KEY = 0xA11CE;
    uint56 internal constant STAKE = 1_000_000_000;
    uint40 internal constant COMPLETION = 120;
    uint40 internal constant INCLUSION = 30;
    uint40 internal constant FINALIZATION = 3_600;
    uint40 internal constant DISPUTE = 60;
    /// @dev Shorter than the equivocation window, so that a dispute can expire inside it.
    uint40 internal constant ARBITRATION = 6 hours;
    uint40 internal constant EQUIVOCATION = 1 days;
    uint40 internal constant NOTICE = 1 days;
    /// @dev As short as the escrow allows: a second longer than the longest risk.
    uint40 internal constant UNBONDING = EQUIVOCATION + 1;
    string private constant ESCROW_ARTIFACT = "artifacts/contracts/escrow/InferenceEscrow.sol/InferenceEscrow.json";
    string private constant DISPUTE_LOGIC = "project/contracts/disputes/DisputeLogic.sol:DisputeLogic";

    HostileStablecoin public token;
    IERC20 public svc;
    IModelCatalog public catalog;
    IWorkerRegistry public registry;
    IArbitrationPanel public panel;
    IInferenceEscrow public escrow;
    address public gateway;
    IProtocolTreasury public treasury;

    function deployProtocol() internal {
        VM.warp(1_900_000_000);
        token = new HostileStablecoin();
        Windows memory windows = Windows(
            uint32(COMPLETION),
            uint32(INCLUSION),
            uint32(FINALIZATION),
            uint32(DISPUTE),
            uint32(ARBITRATION),
            uint32(EQUIVOCATION),
            uint32(NOTICE)
        );
        svc = IERC20(create("ServiceToken", abi.encode(address(this), 1e27)));
        catalog = IModelCatalog(create("ModelCatalog", abi.encode(address(this), NOTICE, 14 days)));
        registry = IWorkerRegistry(
            create("WorkerRegistry", abi.encode(address(this), svc, STAKE, STAKE / 2, UNBONDING))
        );
        panel = IArbitrationPanel(create("ArbitrationPanel", abi.encode(address(this), arbitersOf(1), 2)));
        treasury = newTreasury();
        escrow = IInferenceEscrow(
            createLinked(
                ESCROW_ARTIFACT,
                DISPUTE_LOGIC,
                create("DisputeLogic", ""),
                abi.encode(token, catalog, registry, panel, address(this), address(this), treasury, 1_000, windows)
            )
        );
        treasury.setEscrow(address(escrow));
        panel.setEscrow(address(escrow));
        IRegistryDeployment(address(registry)).setEscrow(address(escrow));
        gateway = VM.addr(GATEWAY_KEY);
        escrow.addGateway(gateway);
        catalog.list(ModelListing("dear", "70B", "a", Tier.Max, 40, 20, 128_000));
        catalog.list(ModelListing("cheap", "1B", "b", Tier.Lite, 2, 1, 4_096));
        svc.approve(address(registry), type(uint256).max);
    }

    /// @dev The three arbiters of a set; sets of even and of odd numbers share nobody.
    function arbitersOf(uint256 set) internal pure returns (address[] memory arbiters) {
        arbiters = new address[](3);
        for (uint160 i = 0; i < 3; ++i) arbiters[i] = address(0xA000 + uint160(set % 2) * 16 + i);
    }

    function newTreasury() internal returns (IProtocolTreasury) {
        return IProtocolTreasury(create("ProtocolTreasury", abi.encode(address(this), token)));
    }

    /// @dev Registers the key with the minimum stake; it is paid at `payout`.
    function addWorker(uint256 key, address payout) internal {
        uint16[] memory models = new uint16[](2);
        (models[0], models[1]) = (1, 2);
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("WorkerRegistry"),
                keccak256("1"),
                block.chainid,
                address(registry)
            )
        );
        bytes32 structHash = keccak256(abi.encode(keccak256("Enrollment(address owner)"), address(this)));
        registry.register(VM.addr(key), payout, "https://worker", models, STAKE, signed(key, domain, structHash));
    }

    function signCompletion(uint256 key, Completion memory c) internal view returns (Signature memory) {
        bytes32 structHash = keccak256(
            abi.encode(
                JobMessages.COMPLETION_TYPEHASH,
                c.jobId,
                c.proofHash,
                c.promptTokens,
                c.completionTokens,
                c.completedAt
            )
        );
        return signed(key, escrow.domainSeparator(), structHash);
    }

    function signAssignment(Assignment memory a) internal view returns (Signature memory) {
        bytes32 structHash = keccak256(
            abi.encode(JobMessages.ASSIGNMENT_TYPEHASH, a.jobId, a.worker, a.attempt, a.acknowledgeBy)
        );
        return signed(GATEWAY_KEY, escrow.domainSeparator(), structHash);
    }

    function signAcknowledgement(uint256 key, bytes16 jobId, uint8 attempt) internal view returns (Signature memory) {
        return signed(key, escrow.domainSeparator(), JobMessages.hashAcknowledgement(jobId, attempt));
    }

    function signed(uint256 key, bytes32 domain, bytes32 structHash) private pure returns (Signature memory) {
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(key, keccak256(abi.encodePacked(hex"1901", domain, structHash)));
        return Signature(r, bytes32(uint256(s) | (uint256(v - 27) << 255)));
    }
}
