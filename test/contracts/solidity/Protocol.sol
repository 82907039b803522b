// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {InferenceEscrow} from "../../../contracts/escrow/InferenceEscrow.sol";
import {IArbitrationPanel} from "../../../contracts/interfaces/IArbitrationPanel.sol";
import {IInferenceEscrow} from "../../../contracts/interfaces/IInferenceEscrow.sol";
import {IModelCatalog, ModelListing, Tier} from "../../../contracts/interfaces/IModelCatalog.sol";
import {IWorkerRegistry} from "../../../contracts/interfaces/IWorkerRegistry.sol";
import {Assignment, Completion, Signature, Windows} from "../../../contracts/libraries/JobTypes.sol";
import {JobMessages} from "../../../contracts/libraries/JobMessages.sol";
import {HostileStablecoin} from "../../../contracts/testing/HostileStablecoin.sol";
import {create, VM} from "./Vm.sol";

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

    HostileStablecoin public token;
    IERC20 public svc;
    IModelCatalog public catalog;
    IWorkerRegistry public registry;
    IArbitrationPanel public panel;
    IInferenceEscrow public escrow;
    address public gateway;
    address public constant TREASURY = address(0x7EA5);

    function deployProtocol() internal {
        VM.warp(1_900_000_000);
        token = new HostileStablecoin();
        Windows memory windows = Windows(
            uint32(COMPLETION),
            uint32(INCLUSION),
            uint32(FINALIZATION),
            60,
            1 days,
            1 days,
            1 days
        );
        svc = IERC20(create("ServiceToken", abi.encode(address(this), 1e27)));
        catalog = IModelCatalog(create("ModelCatalog", abi.encode(address(this), 1 days, 14 days)));
        registry = IWorkerRegistry(create("WorkerRegistry", abi.encode(address(this), svc, STAKE, STAKE / 2, 2 days)));
        address[] memory arbiters = new address[](1);
        arbiters[0] = address(this);
        panel = IArbitrationPanel(create("ArbitrationPanel", abi.encode(address(this), arbiters, 1)));
        // Compiled here once more, unlike the others: the runner links a library only to what it compiles.
        escrow = new InferenceEscrow(
            token,
            catalog,
            registry,
            panel,
            address(this),
            address(this),
            TREASURY,
            1_000,
            windows
        );
        panel.setEscrow(address(escrow));
        IRegistryDeployment(address(registry)).setEscrow(address(escrow));
        gateway = VM.addr(GATEWAY_KEY);
        escrow.addGateway(gateway);
        catalog.list(ModelListing("dear", "70B", "a", Tier.Max, 40, 20, 128_000));
        catalog.list(ModelListing("cheap", "1B", "b", Tier.Lite, 2, 1, 4_096));
        svc.approve(address(registry), type(uint256).max);
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
